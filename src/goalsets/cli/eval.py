"""`goalsets eval`: the official tasks, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import tyro


def eval_(
    run: Annotated[Path, tyro.conf.Positional],
    step: int | None = None,
    last: int | None = None,
    episodes: int = 10,
    workers: int | None = None,
) -> None:
    """Evaluate a run on the official goals of its task, judged by the environment itself.

    Every run of a task is given the same episodes. The record, with every episode, is appended to
    evaluations.jsonl in the run directory.

    Args:
        run: A run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
        last: Evaluate the last so many steps whose weights were kept, and report their mean, as
            the paper does with 3. Those that are recorded already are not run again.
        episodes: Episodes for each goal.
        workers: Processes; by default one for each processor.
    """
    from goalsets.core import GoalsetsError
    from goalsets.evaluate.official import average, last_steps, recorded
    from goalsets.runs.run import Run

    opened = Run.open(run)
    if last is None:
        _print(run, _evaluate(opened, step, episodes, workers))
        return
    if step is not None:
        raise GoalsetsError("give --step or --last, not both.")
    records: list[dict[str, Any]] = []
    for kept in last_steps(opened, last):
        found = recorded(opened, kept, episodes)
        records.append(found or _evaluate(opened, kept, episodes, workers))
        _print(run, records[-1])
    mean = average(records)
    print(
        f"mean of the last {last}: success {mean['success']:.0%}, "
        f"between {mean['lowest']:.0%} and {mean['highest']:.0%}"
    )


def _evaluate(run: Any, step: int | None, episodes: int, workers: int | None) -> dict[str, Any]:  # noqa: ANN401 - a Run, imported when used
    from goalsets.cli.bars import EpisodeBar
    from goalsets.evaluate.official import evaluate_official

    with EpisodeBar() as bar:
        return evaluate_official(
            run, step, episodes=episodes, workers=workers, watch=bar.watch, say=bar.say
        )


def _print(run: Path, record: dict[str, Any]) -> None:
    from goalsets.evaluate.stats import Rate

    total = record["num_episodes"]
    rate = Rate(round(record["success"] * total), total)
    print(f"{run}, step {record['step']:,}: success {rate}, {total} episodes")
    for goal, share in record["by_goal"].items():
        print(f"  goal {goal}: {share:4.0%}")
    if record["mean_steps_to_success"] is not None:
        print(f"  {record['mean_steps_to_success']:.0f} steps to success on average")
