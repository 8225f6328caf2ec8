"""What direct hindsight is worth: suites of questions at the `hour` preset.

The tables go into docs/direct.md and docs/report.md: an ablation, the paper's seven predicates,
and questions about one object of a task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from goalsets.campaign.chains import PLACE
from goalsets.campaign.pages import fill_places, success_cell, training_minutes
from goalsets.campaign.training import suite_names
from goalsets.runs.config import TrainConfig
from goalsets.runs.presets import resolve
from goalsets.runs.records import read_evaluations
from goalsets.runs.run import is_planned
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Job, Sweep

PAGES = (Path("docs/direct.md"), Path("docs/report.md"))
GRIDS = (
    "ablation",
    "ablation-noisy",
    "values",
    "values-play",
    "single",
    "noisy",
    "double",
    "scene",
    "cubes",
)
"""Each a file in `PLACE`."""
_SINGLE = "cube-single-*"
"""The tasks whose suite is the paper's seven predicates."""

Record = Mapping[str, Any]
Rows = dict[str, list[tuple[Job, Record]]]
"""The runs of each configuration with their suites."""


def write() -> None:
    """Write the tables."""
    sweeps = {name: read_sweep(str(PLACE / f"{name}.yaml")) for name in GRIDS}
    fill_places(tables(sweeps), PAGES)


def tables(sweeps: Mapping[str, Sweep], records: Path = PLACE / "runs") -> dict[str, str]:
    """The tables by the name of their place in the page."""
    asked = [sweeps[name] for name in ("single", "noisy", "values", "values-play")]
    return {
        "ablation": table([sweeps["ablation"]], records),
        "ablation_noisy": table([sweeps["ablation-noisy"]], records),
        "predicates": table(asked, records, _SINGLE),
        "parts": questions([sweeps[name] for name in ("double", "scene", "cubes")], records),
    }


def table(sweeps: Sequence[Sweep], records: Path = PLACE / "runs", tasks: str = "*") -> str:
    """Sweeps as a Markdown table: a row for each configuration, a column for each predicate.

    Runs that were asked by chains too have a second row for it.

    Args:
        sweeps: The grids.
        records: Where the records of their runs are.
        tasks: A pattern of the tasks to show.
    """
    described: dict[tuple[str, bool], tuple[Sweep, list[tuple[Job, Record]]]] = {}
    for sweep in sweeps:
        planned = _rows(sweep, records, plan=True)
        for group, row in _rows(sweep, records).items():
            if fnmatch(row[0][0].config.task, tasks):
                described[group, False] = (sweep, row)
                if group in planned:
                    described[group, True] = (sweep, planned[group])
    if not described:
        return "Nothing is recorded yet."
    predicates = list(dict.fromkeys(p for _, row in described.values() for p in _asked(row)))
    lines = [
        f"| task | trained with | {' | '.join(p.replace('_', ' ') for p in predicates)} | seeds | "
        "minutes |",
        f"|---|---|{'---:|' * (len(predicates) + 2)}",
    ]
    for (_, plan), (sweep, row) in described.items():
        config = row[0][0].config
        cells = [_cell([record for _, record in row], predicate) for predicate in predicates]
        lines.append(
            f"| {config.task} | {describe(config, sweep)}{', **by a chain**' * plan} | "
            f"{' | '.join(cells)} | {len(row)} | "
            f"{_minutes(row):.0f} |"
        )
    return "\n".join(lines)


def questions(sweeps: Sequence[Sweep], records: Path = PLACE / "runs") -> str:
    """A row for each question about a task of several objects."""
    lines = [
        "| task | question | asked for | at once | by a chain | seeds | minutes |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for sweep in sweeps:
        planned = _rows(sweep, records, plan=True)
        for group, row in _rows(sweep, records).items():
            task = row[0][0].config.task
            if fnmatch(task, _SINGLE):
                continue
            for predicate in dict.fromkeys(_asked(row)):
                query = row[0][1]["by_predicate"][predicate]["query"]
                chained = planned.get(group, [])
                once = _cell([record for _, record in row], predicate)
                chain = _cell([record for _, record in chained], predicate)
                seeds = f"{len(row)}, {len(chained)}" if chained else f"{len(row)}"
                lines.append(
                    f"| {task} | {predicate.replace('_', ' ')} | `{query}` | {once} | {chain} | "
                    f"{seeds} | {_minutes(row):.0f} |"
                )
    return "\n".join(lines) if len(lines) > 2 else "Nothing is recorded yet."


def _rows(sweep: Sweep, records: Path, *, plan: bool = False) -> Rows:
    """The runs that were asked, at once or by chains."""
    rows: Rows = {}
    for job in sweep.jobs():
        found = _last_suite(job, sweep, records, plan=plan)
        if found is not None:
            rows.setdefault(job.group, []).append((job, found))
    return rows


def _minutes(row: Sequence[tuple[Job, Record]]) -> float:
    return training_minutes([record for _, record in row])


def describe(config: TrainConfig, sweep: Sweep) -> str:
    """A configuration for people: learner, scheme, and what differs from the preset."""
    usual = resolve(config.task, learner=config.learner, scheme=config.scheme, preset=sweep.preset)
    common = set.intersection(*(set(point) for point in sweep.overrides))
    changed = _changes(asdict(usual), asdict(config), {"seed", "settings", *common})
    changed += _changes(usual.settings, config.settings, set())
    return ", ".join([config.learner, config.scheme, *changed])


def _changes(usual: Mapping[str, Any], ours: Mapping[str, Any], but: set[str]) -> list[str]:
    return [f"{k} {v}" for k, v in ours.items() if k not in but and v != usual.get(k)]


def _last_suite(job: Job, sweep: Sweep, records: Path, *, plan: bool) -> Record | None:
    """The newest record of a suite of the sweep, of the last step: runs may be in several grids."""
    found, _ = read_evaluations(records / job.name)
    answered = [r for r in found if r["kind"] == "suite" and is_planned(r) == plan]
    last = [r for r in answered if r["step"] == job.config.steps]
    names = suite_names(sweep, job.config)
    suites = [record for record in last if record["suite"] in names]
    return suites[-1] if suites else None


def _asked(row: Sequence[tuple[Job, Record]]) -> list[str]:
    return [predicate for _, record in row for predicate in record["by_predicate"]]


def _cell(found: Sequence[Record], predicate: str) -> str:
    """Success at a predicate over the seeds that were asked; a dash where none was."""
    asked = [r["by_predicate"][predicate] for r in found if predicate in r["by_predicate"]]
    return success_cell(asked) if asked else "—"
