"""Write a report: first tables and figures, then the pages that show them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from goalsets.core import GoalsetsError, door
from goalsets.report.aggregate import aggregate_table
from goalsets.report.chains import chain_table
from goalsets.report.figures import curves, distances, dumbbell, gains, landscapes, pictures
from goalsets.report.figures.drawing import Drawing, save, style
from goalsets.report.figures.predicates import draw_predicates
from goalsets.report.main_table import main_table
from goalsets.report.page import Report, Section, write_html, write_markdown
from goalsets.report.paired import paired_table, pairs
from goalsets.report.published import FULL_STATE, ORACLE, answers_queries, ordered_schemes
from goalsets.report.reading import Note, read_runs
from goalsets.report.results import Results, gather
from goalsets.report.suites import gather_suites, predicate_table
from goalsets.report.tables import Table
from goalsets.workers import silence

Slow = Literal["pictures", "landscapes"]
PAGE, MARKDOWN, INDEX = "report.html", "report.md", "report.json"
_FIGURES, _TABLES = "figures", "tables"
_OWN = re.compile(rf"({_FIGURES}|{_TABLES})/[^./\0][^/\0]{{0,200}}")


@dataclass(frozen=True)
class Options:
    """Options of a report."""

    title: str = "Goal sets: results"
    last: int = 3
    """A run's score is the mean of at most this many of its last evaluations."""
    since: float = 0.8
    """Evaluations count after this share of the training."""
    scheme: str | None = None
    """The GS-HER scheme of the dumbbell and the gains; by default the first with runs."""
    skip: Sequence[Slow] = ()
    """Slow parts to leave out."""

    def __post_init__(self) -> None:
        """Check the values."""
        if self.last < 1:
            raise GoalsetsError(f"last must be 1 or more, got {self.last}.")
        if not 0 <= self.since <= 1:
            raise GoalsetsError(f"since must be from 0 to 1, got {self.since:g}.")
        if self.scheme is not None and not answers_queries(self.scheme):
            raise GoalsetsError(
                f"scheme must be one that answers queries, got {self.scheme!r}: "
                f"{FULL_STATE} and {ORACLE} are always drawn beside it."
            )


@dataclass(frozen=True)
class Written:
    """What was written."""

    report: Report
    page: Path
    files: Sequence[Path] = field(default_factory=tuple)


def write_report(
    places: Sequence[Path],
    output: Path,
    options: Options | None = None,
    watch: Callable[[str, int, int], None] = silence,
) -> Written:
    """Write a report on all runs in some directories.

    Args:
        places: Run directories, or directories that contain them.
        output: The directory; files of an earlier report are replaced.
        options: The options.
        watch: Called with the current part, how much of it is done, and its size.
    """
    options = options or Options()
    found = read_runs(places, lambda done, total: watch("reading runs", done, total))
    results = gather(found.runs, found.notes, last=options.last, since=options.since)
    notes = list(results.notes)
    with style():
        sections = _sections(results, notes, options, watch)
        report = Report(options.title, results, sections, notes)
        try:
            return _write(report, _data(results, options), output, watch)
        except OSError as error:
            raise GoalsetsError(f"cannot write the report to {output}: {error}.") from error


def _sections(
    results: Results,
    notes: list[Note],
    options: Options,
    watch: Callable[[str, int, int], None],
) -> list[Section]:
    scheme = _scheme(results, options)
    # Pictures come first: MuJoCo chooses how to draw when it is first imported.
    drawn: list[Drawing] = []
    if "pictures" not in options.skip:
        row = pictures.draw_tasks(results, notes, lambda d, t: watch("drawing tasks", d, t))
        drawn = [row] if row is not None else []
    suites = gather_suites(results, notes)
    watch("comparing runs", 0, 1)
    paired = paired_table(pairs(results, suites))
    watch("comparing runs", 1, 1)
    surfaces: list[Drawing] = []
    if "landscapes" not in options.skip:
        surfaces = landscapes.draw_landscapes(
            results, notes, lambda d, t: watch("computing landscapes", d, t)
        )
    return [
        Section(
            "Official success",
            "The five official goals of each task, judged by the environment itself.",
            _there(
                main_table(results),
                dumbbell.draw_dumbbell(results, scheme),
                aggregate_table(results),
            ),
            "No run has a score.",
        ),
        Section(
            "One model, many predicates",
            "One checkpoint of each run, asked many questions on episodes that all were given.",
            [part for seen in suites for part in (*draw_predicates(seen), predicate_table(seen))],
            "No run has answered a suite: see 'goalsets suite run'.",
        ),
        *_chains(results, notes),
        Section(
            "When goal sets help",
            "What an oracle projection gains over full states, and what goal sets gain.",
            _there(gains.draw_gains(results, scheme)),
            f"No task has {FULL_STATE}, {ORACLE} and {scheme} of one learner.",
        ),
        Section(
            "Distances and values",
            "What the learned values say about how far a goal is.",
            [*distances.draw_distances(results, notes), *surfaces],
            "No run has a record of 'goalsets distance', and none has a value landscape. A "
            "landscape needs a task with a plane of states, and a learner with a value.",
        ),
        Section(
            "Learning curves",
            "Success on the way, over steps and over time.",
            curves.draw_curves(results),
            "No run was evaluated.",
        ),
        Section(
            "Paired tests",
            "Schemes against full-state relabeling, episode by episode.",
            _there(paired),
            f"No two runs of one learner, task and seed share episodes with {FULL_STATE}.",
        ),
        Section("The tasks", "What the robots see.", drawn, "No pictures."),
    ]


def _chains(results: Results, notes: list[Note]) -> list[Section]:
    """The section on chains of questions; empty if no run was asked one."""
    suites = [predicate_table(seen) for seen in gather_suites(results, notes, plan=True)]
    parts = _there(chain_table(results), *suites)
    told = "The same runs, asked one part of a goal after another: see 'goalsets eval --plan'."
    return [Section("Chains of questions", told, parts, "")] if parts else []


def _scheme(results: Results, options: Options) -> str:
    """The GS-HER scheme of figures that show only one."""
    if options.scheme is not None:
        return options.scheme
    ours = [s for s in ordered_schemes() if answers_queries(s)]
    used = {cell.scheme for cell in results.cells.values()}
    return next((scheme for scheme in ours if scheme in used), ours[0])


def _data(results: Results, options: Options) -> list[Table]:
    """Tables that only become CSV files: the numbers behind figures, and the list of runs."""
    scheme = _scheme(results, options)
    runs = [
        {
            "run": str(run.path),
            "task": run.task,
            "learner": run.config.learner,
            "scheme": run.config.scheme,
            "seed": run.config.seed,
            "variant": results.variants[str(run.path)],
            "steps": run.config.steps,
            "batch": run.config.batch_size,
            "data": run.fingerprint,
            "data_episodes": run.data.get("episodes"),
            "data_transitions": run.data.get("transitions"),
            "evaluations": len(run.evaluations),
        }
        for run in results.runs
    ]
    return [
        Table("runs", "Runs", "", [], [], runs),
        curves.curve_table(results),
        distances.distance_table(results),
        gains.gain_table(gains.own_gains(results, scheme), scheme),
    ]


def _there(*parts: Table | Drawing | None) -> list[Table | Drawing]:
    return [part for part in parts if part is not None]


def _write(
    report: Report, data: Sequence[Table], output: Path, watch: Callable[[str, int, int], None]
) -> Written:
    tables, figures = output / _TABLES, output / _FIGURES
    tables.mkdir(parents=True, exist_ok=True)
    parts = [part for section in report.sections for part in section.parts]
    files: list[Path] = []
    for number, part in enumerate([*parts, *data], start=1):
        if isinstance(part, Drawing):
            files += save(part, figures)
        else:
            shown = {"csv": part.to_csv()}
            if part in parts:
                shown |= {"md": part.to_markdown(), "tex": part.to_latex()}
            elif not part.records:
                continue
            for kind, text in shown.items():
                files.append(tables / f"{part.name}.{kind}")
                files[-1].write_text(text, encoding="utf-8")
        watch("writing", number, len(parts) + len(data))
    page = output / PAGE
    write_html(report, figures, page)
    write_markdown(report, _FIGURES, output / MARKDOWN)
    files += [page, output / MARKDOWN]
    _write_index(report, files, output)
    return Written(report, page, files)


def _write_index(report: Report, files: Sequence[Path], output: Path) -> None:
    """Write the list of the report's files, and remove other files of an earlier report."""
    index = output / INDEX
    own = [str(file.relative_to(output)) for file in files]
    for name in _earlier(index):
        if name not in own:
            (output / name).unlink(missing_ok=True)
    content = {
        "title": report.title,
        "runs": [str(run.path) for run in report.results.runs],
        "notes": [{"place": note.place, "reason": note.reason} for note in report.notes],
        "files": own,
    }
    index.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _earlier(index: Path) -> list[str]:
    """The tables and figures of an earlier report. Other names in its list are no files of ours."""
    try:
        named = door.fit(door.read_json(index), _Index, str(index)).files
    except GoalsetsError:  # none, or not one of ours
        return []
    return [name for name in named if _OWN.fullmatch(name)]


@dataclass(frozen=True)
class _Index:
    files: list[str]
