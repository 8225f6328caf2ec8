"""`goalsets eval`: success on the official goals, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from goalsets.cli.counts import Count, OptionalCount, OptionalSize

if TYPE_CHECKING:
    from goalsets.runs.run import Run


def eval_(
    run: Annotated[Path, tyro.conf.Positional],
    step: OptionalSize = None,
    last: OptionalCount = None,
    episodes: Count = 10,
    plan: bool = False,
    data: Path | None = None,
    workers: OptionalCount = None,
) -> None:
    """Evaluate a run on the official goals of its task, judged by the environment itself.

    Every run of a task is given the same episodes. The record, with every episode, is appended to
    evaluations.jsonl in the run directory.

    Args:
        run: A run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
        last: Evaluate this many of the last kept weights, and report their mean; the paper uses 3.
            Evaluations that are recorded already are not run again.
        episodes: Episodes for each goal.
        plan: Ask a chain of questions, one part of the goal after another, that the planner finds
            in the data. These records are marked, and not mixed with those of whole questions.
        data: With --plan, if the run has no planner yet: the store to learn it from; by default
            the one in $GOALSETS_DATA or ~/.goalsets/data under the task's name.
        workers: Processes; by default one for each processor.
    """
    from goalsets.core import GoalsetsError
    from goalsets.evaluate.official import average, last_steps, recorded
    from goalsets.runs.run import Run

    opened = Run.open(run)
    prepare_plans([opened], plan, data)
    if last is None:
        _print(run, _evaluate(opened, step, episodes, plan, workers))
        return
    if step is not None:
        raise GoalsetsError("give --step or --last, not both.")
    records: list[dict[str, Any]] = []
    for kept in last_steps(opened, last):
        found = recorded(opened, kept, episodes, plan)
        records.append(found or _evaluate(opened, kept, episodes, plan, workers))
        _print(run, records[-1])
    mean = average(records)
    print(
        f"mean of the last {last}: success {mean['success']:.0%}, "
        f"between {mean['lowest']:.0%} and {mean['highest']:.0%}"
    )


def prepare_plans(runs: Sequence[Run], plan: bool, data: Path | None) -> None:
    """Load or learn the planners of runs, before anything runs for minutes."""
    from goalsets.cli.printing import say_aside
    from goalsets.core import GoalsetsError

    if data is not None and not plan:
        raise GoalsetsError("--data is for the planner: add --plan, or leave out --data.")
    for run in runs if plan else ():
        run.planner(data, say=say_aside)


def _evaluate(
    run: Run, step: int | None, episodes: int, plan: bool, workers: int | None
) -> dict[str, Any]:
    from goalsets.cli.bars import EpisodeBar
    from goalsets.evaluate.official import evaluate_official

    with EpisodeBar() as bar:
        return evaluate_official(
            run, step, episodes=episodes, plan=plan, workers=workers, watch=bar.watch, say=bar.say
        )


def _print(run: Path, record: dict[str, Any]) -> None:
    from goalsets.evaluate.stats import Rate

    total = record["num_episodes"]
    rate = Rate(round(record["success"] * total), total)
    chain = ", with a chain" if record.get("plan") else ""
    print(f"{run}, step {record['step']:,}{chain}: success {rate}, {total} episodes")
    for goal, share in record["by_goal"].items():
        print(f"  goal {goal}: {share:4.0%}")
    if record["mean_steps_to_success"] is not None:
        print(f"  {record['mean_steps_to_success']:.0f} steps to success on average")
