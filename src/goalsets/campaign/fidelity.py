"""Fidelity: the plain method under the `paper` preset at a tenth of the paper's steps.

The table goes into docs/reproduce.md. It has the success along training, beside the paper's after
ten times as many steps, and says how many pairs of cells have the paper's order.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goalsets.campaign.pages import fill_places, success_cell
from goalsets.report.published import published_scores
from goalsets.runs.records import read_evaluations
from goalsets.runs.run import is_planned
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Job, Sweep

PLACE, RUNS = Path("results/fidelity"), Path("runs/fidelity")
GRIDS = ("noisy",)
"""Each a file in `PLACE`."""
PAGES = (Path("docs/reproduce.md"),)
LEAST = 5.0
"""Points by which two cells of the paper must differ to have an order."""

Record = Mapping[str, Any]
Curves = dict[tuple[str, str, str], dict[int, list[Record]]]
"""For each learner, task and scheme the official records by step, a seed each."""


def write() -> None:
    """Write the table."""
    sweeps = [read_sweep(str(PLACE / f"{name}.yaml")) for name in GRIDS]
    fill_places({"fidelity": table(curves(sweeps))}, PAGES)


def curves(sweeps: list[Sweep], records: Path = PLACE / "runs") -> Curves:
    """The records of the runs of the sweeps."""
    found: Curves = {}
    for job in (job for sweep in sweeps for job in sweep.jobs()):
        for record in _official(job, records):
            cell = job.config.learner, job.config.task, job.config.scheme
            found.setdefault(cell, {}).setdefault(record["step"], []).append(record)
    return found


def table(found: Curves) -> str:
    """The curves as a Markdown table, with a sentence about their order."""
    if not found:
        return "Nothing is recorded yet."
    steps = sorted({step for curve in found.values() for step in curve})
    lines = [
        f"| task | learner | scheme | {' | '.join(f'{step:,} steps' for step in steps)} | paper |",
        f"|---|---|---|{'---:|' * (len(steps) + 1)}",
    ]
    for (learner, task, scheme), curve in found.items():
        cells = [success_cell(curve[step]) if step in curve else "—" for step in steps]
        paper = published_scores().get((learner, task, scheme), "—")
        lines.append(f"| {task} | {learner} | {scheme} | {' | '.join(cells)} | {paper} |")
    same, pairs = order(found, steps[-1])
    told = (
        f"*{pairs} pairs of rows on the same task differ by {LEAST:.0f} points or more in the "
        f"paper. {same} of them have the paper's order here after {steps[-1]:,} steps.*"
    )
    return "\n".join([*lines, "", told])


def order(found: Curves, step: int) -> tuple[int, int]:
    """How many pairs of cells have the paper's order at a step, and how many have one at all."""
    same = pairs = 0
    published = published_scores()
    cells = [cell for cell, curve in found.items() if step in curve and cell in published]
    for one, other in itertools.combinations(cells, 2):
        paper = published[one].mean - published[other].mean
        if one[1] == other[1] and abs(paper) >= LEAST:
            pairs += 1
            same += (_mean(found[one][step]) - _mean(found[other][step])) * paper > 0
    return same, pairs


def _mean(records: list[Record]) -> float:
    return sum(record["success"] for record in records) / len(records)


def _official(job: Job, records: Path) -> list[dict[str, Any]]:
    """The official records of a run: for each step the newest."""
    found = read_evaluations(records / job.name)[0]
    asked = [r for r in found if r["kind"] == "official" and not is_planned(r)]
    return list({record["step"]: record for record in asked}.values())
