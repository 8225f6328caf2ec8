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
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from goalsets.evaluate.official import evaluate_official
    from goalsets.evaluate.stats import Rate
    from goalsets.train.run import Run

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("episodes"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        shown = bar.add_task("", total=5 * episodes, rate="")

        def watch(done: int, total: int, successes: int) -> None:
            bar.update(shown, completed=done, total=total, rate=f"success {Rate(successes, done)}")

        def say(text: str) -> None:
            console.print(text, highlight=False, markup=False)

        record = evaluate_official(
            Run.open(run), step, episodes=episodes, workers=workers, watch=watch, say=say
        )
    total = record["num_episodes"]
    rate = Rate(round(record["success"] * total), total)
    print(f"{run}, step {record['step']:,}: success {rate}, {total} episodes")
    for goal, share in record["by_goal"].items():
        print(f"  goal {goal}: {share:4.0%}")
    if record["mean_steps_to_success"] is not None:
        print(f"  {record['mean_steps_to_success']:.0f} steps to success on average")
