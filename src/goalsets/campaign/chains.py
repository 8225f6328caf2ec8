"""What chains of questions are worth: `python -m goalsets.campaign.chains [--only PATTERN...]`.

Trains the grids in results/plan (a run that is recorded there is never repeated), asks each
checkpoint the official question at once and by a chain, keeps the small files of every run beside
the grids, and puts the tables into docs/plan.md and the README. Stop it when you like; it
continues. With `--records`, it trains nothing and only writes what there is.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goalsets.campaign.pages import README, fill_places
from goalsets.campaign.results import keep_records, train_missing
from goalsets.report.published import published_scores
from goalsets.report.statistics import success_interval
from goalsets.runs.run import is_planned, read_evaluations
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Sweep

PLACE, RUNS = Path("results/plan"), Path("runs/plan")
PAGES = (Path("docs/plan.md"), README)
GRIDS = ("cubes", "scene", "puzzle", "point", "ant")
"""Each a file in `PLACE`."""

Record = Mapping[str, Any]


def main() -> None:
    """Train what is missing, then keep the records and write the tables."""
    parser = argparse.ArgumentParser(description="Measure what chains of questions are worth.")
    parser.add_argument("--only", nargs="+", default=[], help='patterns of names: "*-s0"')
    parser.add_argument("--records", action="store_true", help="train nothing")
    asked = parser.parse_args()
    keep_records(RUNS, PLACE / "runs")
    for name in () if asked.records else GRIDS:
        train_missing(PLACE / f"{name}.yaml", asked.only, RUNS, PLACE / "runs")
    sweeps = [read_sweep(str(PLACE / f"{name}.yaml")) for name in GRIDS]
    fill_places({"chains": table(sweeps), "chains_by_goal": by_goal(sweeps)}, PAGES)


def table(sweeps: Sequence[Sweep], records: Path = PLACE / "runs") -> str:
    """Success on the official goals, at once and by a chain, beside the paper's best."""
    lines = [
        "| task | at once | by a chain | paper's best | seeds | minutes |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for task, runs in _by_task(sweeps, records).items():
        minutes = statistics.median(found[True]["training_seconds"] for found in runs) / 60
        cells = [_cell([found[plan] for found in runs]) for plan in (False, True)]
        lines.append(
            f"| {task} | {cells[0]} | **{cells[1]}** | {paper_best(task)} | {len(runs)} | "
            f"{minutes:.0f} |"
        )
    return "\n".join(lines) if len(lines) > 2 else "Nothing is recorded yet."


def by_goal(sweeps: Sequence[Sweep], records: Path = PLACE / "runs") -> str:
    """The same by official goal: at once, then by a chain, in percent over all seeds."""
    found = _by_task(sweeps, records)
    if not found:
        return "Nothing is recorded yet."
    count = max(len(runs[0][True]["by_goal"]) for runs in found.values())
    lines = [
        f"| task | {' | '.join(f'goal {goal}' for goal in range(1, count + 1))} |",
        f"|---|{'---:|' * count}",
    ]
    for task, runs in found.items():
        cells = [
            " → ".join(
                f"{100 * statistics.fmean(run[plan]['by_goal'][goal] for run in runs):.0f}"
                for plan in (False, True)
            )
            for goal in runs[0][True]["by_goal"]
        ]
        lines.append(f"| {task} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_task(sweeps: Sequence[Sweep], records: Path) -> dict[str, list[dict[bool, Record]]]:
    """For each task its runs that were asked both ways, by whether a chain was asked."""
    tasks: dict[str, list[dict[bool, Record]]] = {}
    for sweep in sweeps:
        for job in sweep.jobs():
            last = [
                record
                for record in read_evaluations(records / job.name)[0]
                if record["kind"] == "official" and record["step"] == job.config.steps
            ]
            found: dict[bool, Record] = {is_planned(record): record for record in last}
            if len(found) == 2:
                tasks.setdefault(job.config.task, []).append(found)
    return tasks


def paper_best(task: str) -> str:
    """The best mean of the paper's main table on a task; a dash where it has none."""
    scores = [score.mean for (_, its, _), score in published_scores().items() if its == task]
    return f"{max(scores):.0f}" if scores else "—"


def _cell(records: Sequence[Record]) -> str:
    """Success in percent with its interval, over the seeds."""
    values = [100.0 * record["success"] for record in records]
    low, high = success_interval(values, sum(record["num_episodes"] for record in records))
    return f"{statistics.fmean(values):.0f} [{low:.0f}, {high:.0f}]"


if __name__ == "__main__":
    main()
