"""`goalsets report`: tables and figures from run directories, beside the paper's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from goalsets.cli.counts import Count


def report(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("reports"),
    title: str = "Goal sets: results",
    last: Count = 3,
    since: float = 0.8,
    scheme: str | None = None,
    skip: tuple[Literal["pictures", "landscapes"], ...] = (),
) -> None:
    """Write the paper's tables and figures from your own runs, beside the published numbers.

    The report reads only the records in run directories. 'goalsets eval', 'goalsets suite run' and
    'goalsets distance' write them. It writes one HTML page, Markdown, tables as CSV and LaTeX, and
    figures as PNG, SVG and PDF. A cell without runs says "missing". A run that cannot be read is
    listed with the reason.

    Args:
        runs: Run directories, or directories that contain them at any depth, such as runs.
        output: The directory for the report; the files of an earlier report are replaced.
        title: The title of the report.
        last: The score of a run is the mean of at most this many of its last official evaluations;
            3 as in the paper.
        since: Count evaluations only after this share of the training. The paper's three are at 80,
            90 and 100 percent. With 0 the last evaluations count, wherever they are.
        scheme: The GS-HER scheme in figures that show only one; by default gs-blockwise, or the
            first that has runs.
        skip: Slow parts to leave out: pictures (rendered tasks), landscapes (values from weights).
    """
    from goalsets.cli.bars import ReportBar
    from goalsets.core import GoalsetsError
    from goalsets.report import Options, write_report

    if not runs:
        raise GoalsetsError("name at least one run directory, or a directory that contains some.")
    options = Options(title, last, since, scheme, skip)
    with ReportBar() as bar:
        written = write_report(runs, output, options, bar.watch)
    print(written.report.summary)
    for note in written.report.notes:
        print(f"note: {note.place}: {note.reason}")
    print(f"report: {written.page} ({len(written.files)} files)")
