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

    Reads run directories and nothing else: a run that was evaluated ('goalsets eval'), asked a
    suite ('goalsets suite run') or looked along a rollout ('goalsets distance') has it in its
    records. Writes one HTML page, Markdown, tables as CSV and LaTeX, and figures as PNG, SVG and
    PDF. What is missing is shown as missing; what cannot be read is named, with the reason.

    Args:
        runs: Run directories, or directories that contain them at any depth, such as runs.
        output: The directory for the report; what an earlier report left there is replaced.
        title: What stands above it.
        last: How many of a run's last official evaluations its score is the mean of, at the most;
            3 as in the paper.
        since: Evaluations count from this share of the training on: the paper's three are at 80,
            90 and 100 percent. 0 takes the last ones, wherever they are.
        scheme: The GS-HER scheme of the figures that show one; by default gs-blockwise, or the
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
