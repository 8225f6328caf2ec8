"""`goalsets eval`: the official tasks, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro


def eval_(
    run: Annotated[Path, tyro.conf.Positional],
    step: int | None = None,
    episodes: int = 10,
    workers: int | None = None,
) -> None:
    """Evaluate a run on the five official goals of its task, judged by the environment itself.

    Every run of a task is given the same episodes. The record, with every episode, is appended to
    evaluations.jsonl in the run directory.

    Args:
        run: A run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
        episodes: Episodes for each of the five goals.
        workers: Processes; by default one for each processor.
    """
    from goalsets.cli.episode_bar import EpisodeBar
    from goalsets.evaluate.official import evaluate_official
    from goalsets.evaluate.stats import Rate
    from goalsets.train.run import Run

    opened = Run.open(run)
    with EpisodeBar() as bar:
        record = evaluate_official(
            opened, step, episodes=episodes, workers=workers, watch=bar.watch, say=bar.say
        )
    total = record["num_episodes"]
    rate = Rate(round(record["success"] * total), total)
    print(f"{run}, step {record['step']:,}: success {rate}, {total} episodes")
    for goal, share in record["by_goal"].items():
        print(f"  goal {goal}: {share:4.0%}")
    if record["mean_steps_to_success"] is not None:
        print(f"  {record['mean_steps_to_success']:.0f} steps to success on average")
