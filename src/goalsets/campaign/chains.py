"""What schemes and chains of questions are worth: official goals at the `hour` preset.

Each checkpoint of the grids in results/hour is asked the official question at once and by a chain.
The tables go into docs/plan.md, docs/direct.md, docs/report.md and README.md. The figure of
README.md is drawn here.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goalsets.campaign.collecting import measured
from goalsets.campaign.front import Row, draw_front, front_table, in_the_paper
from goalsets.campaign.pages import README, fill_places, success_cell, training_minutes
from goalsets.report.published import best_published, published_scores
from goalsets.runs.records import read_evaluations
from goalsets.runs.run import is_planned
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Sweep

PLACE, RUNS = Path("results/hour"), Path("runs/hour")
PAGES = (Path("docs/plan.md"), Path("docs/direct.md"), Path("docs/report.md"), README)
GRIDS = ("single", "double", "scene", "noisy", "point", "ant")
"""The paper's tasks, each grid a file in `PLACE`."""
BASELINES = tuple(f"schemes-{name}" for name in GRIDS)
"""The same under the paper's schemes, likewise."""
BEYOND = ("cubes", "puzzles", "far-puzzles", "far-point", "far-ant")
"""Other tasks, likewise."""
ALL = (*GRIDS, *BASELINES, *BEYOND)
OURS = "gs-direct"
SCHEMES = {
    "her-full": "HER-Full",
    "her-task": "HER-Task",
    "gs-blockwise": "gs-blockwise",
    OURS: OURS,
}
"""The schemes of the grids, and how the tables call them."""

_VALIDATION = 0.1
"""Episodes that are collected for validation, as a share of those for training."""

Record = Mapping[str, Any]
Runs = list[dict[bool, Record]]
"""For each seed its official records, by whether a chain was asked."""


def write() -> None:
    """Write the tables, and draw the figure of the front page."""
    sweeps = [read_sweep(str(PLACE / f"{name}.yaml")) for name in ALL]
    found, collecting = recorded(sweeps), minutes_of_collecting(sweeps)
    fill_places(tables(found, collecting), PAGES)
    draw_front(front_rows(found, collecting))


def tables(
    found: Mapping[str, Mapping[str, Runs]], collecting: Mapping[str, float]
) -> dict[str, str]:
    """The tables by the name of their place in a page.

    Args:
        found: The records, from `recorded`.
        collecting: Minutes of one core that the data of a task took, as far as they are known.
    """
    return {
        "chains": table(found, collecting),
        "chains_by_scheme": by_scheme(found, chains=True),
        "chains_by_goal": by_goal(found),
        "official": by_scheme(found, chains=False),
        "front": front_table(front_rows(found, collecting)),
    }


def front_rows(
    found: Mapping[str, Mapping[str, Runs]], collecting: Mapping[str, float]
) -> list[Row]:
    """Our scheme on the tasks of the paper's main table."""
    ours = {task: schemes[OURS] for task, schemes in found.items() if OURS in schemes}
    return [
        Row(
            task,
            [run[False] for run in ours[task]],
            [run[True] for run in ours[task]],
            collecting.get(task),
        )
        for task in in_the_paper(list(ours))
    ]


def recorded(sweeps: Sequence[Sweep], records: Path = PLACE / "runs") -> dict[str, dict[str, Runs]]:
    """The official records of the last step of all runs that were asked both ways.

    By task and scheme; tasks are in the order of the sweeps.
    """
    tasks: dict[str, dict[str, Runs]] = {}
    for sweep in sweeps:
        for job in sweep.jobs():
            last = [
                record
                for record in read_evaluations(records / job.name)[0]
                if record["kind"] == "official" and record["step"] == job.config.steps
            ]
            found: dict[bool, Record] = {is_planned(record): record for record in last}
            if len(found) == 2:
                tasks.setdefault(job.config.task, {}).setdefault(job.config.scheme, []).append(
                    found
                )
    return {task: tasks[task] for sweep in sweeps for task in sweep.tasks if task in tasks}


def minutes_of_collecting(
    sweeps: Sequence[Sweep], seconds: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Minutes of one core that collecting the data of each task takes, where it was measured."""
    seconds = measured() if seconds is None else seconds
    return {
        task: seconds[task] * sweep.data.episodes * (1 + _VALIDATION) / 60
        for sweep in sweeps
        for task in sweep.tasks
        if task in seconds and sweep.data.episodes is not None
    }


def table(found: Mapping[str, Mapping[str, Runs]], collecting: Mapping[str, float]) -> str:
    """Success of our scheme on the official goals, at once and by a chain, beside what is known."""
    lines = [
        "| task | at once | by a chain | paper's best | best published | seeds | "
        "minutes: collecting + training |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for task, schemes in found.items():
        runs = schemes.get(OURS)
        if runs:
            cells = [_cell(runs, chain) for chain in (False, True)]
            lines.append(
                f"| {task} | {cells[0]} | **{cells[1]}** | {paper_best(task)} | "
                f"{best_published().get(task, '—')} | {len(runs)} | "
                f"{_rounded(collecting.get(task))} + {_minutes(runs):.0f} |"
            )
    return "\n".join(lines) if len(lines) > 2 else "Nothing is recorded yet."


def by_scheme(found: Mapping[str, Mapping[str, Runs]], *, chains: bool) -> str:
    """Success of every scheme at once, and with `chains` also by a chain: at once → by a chain.

    The number of seeds stands behind a cell.
    """
    compared = {task: schemes for task, schemes in found.items() if len(schemes) > 1}
    if not compared:
        return "Nothing is recorded yet."
    shown = [scheme for scheme in SCHEMES if any(scheme in each for each in compared.values())]
    lines = [
        f"| task | {' | '.join(SCHEMES[scheme] for scheme in shown)} | paper's best |",
        f"|---|{'---:|' * (len(shown) + 1)}",
    ]
    for task, schemes in compared.items():
        cells: list[str] = []
        for scheme in shown:
            runs = schemes.get(scheme)
            asked = (False, True) if chains else (False,)
            text = " → ".join(_cell(runs, chain) for chain in asked) if runs else "—"
            cells.append(f"{text} ({len(runs)})" if runs else text)
        lines.append(f"| {task} | {' | '.join(cells)} | {paper_best(task)} |")
    return "\n".join(lines)


def by_goal(found: Mapping[str, Mapping[str, Runs]]) -> str:
    """Our scheme by official goal: at once → by a chain, in percent over all seeds."""
    ours = {task: schemes[OURS] for task, schemes in found.items() if OURS in schemes}
    if not ours:
        return "Nothing is recorded yet."
    count = max(len(runs[0][True]["by_goal"]) for runs in ours.values())
    lines = [
        f"| task | {' | '.join(f'goal {goal}' for goal in range(1, count + 1))} |",
        f"|---|{'---:|' * count}",
    ]
    for task, runs in ours.items():
        cells = [
            " → ".join(
                f"{100 * statistics.fmean(run[chain]['by_goal'][goal] for run in runs):.0f}"
                for chain in (False, True)
            )
            for goal in runs[0][True]["by_goal"]
        ]
        lines.append(f"| {task} | {' | '.join(cells)} |")
    return "\n".join(lines)


def paper_best(task: str) -> str:
    """The best mean of the paper's main table on a task; a dash where it has none."""
    scores = [score.mean for (_, its, _), score in published_scores().items() if its == task]
    return f"{max(scores):.0f}" if scores else "—"


def _rounded(minutes: float | None) -> str:
    return "—" if minutes is None else f"{minutes:.0f}"


def _minutes(runs: Runs) -> float:
    return training_minutes([found[True] for found in runs])


def _cell(runs: Runs, chain: bool) -> str:
    return success_cell([found[chain] for found in runs])
