"""`goalsets data collect`: collect OGBench data sets instead of downloading them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import tyro

from goalsets.cli.counts import OptionalCount, Size


def collect(
    task: Annotated[str, tyro.conf.Positional],
    episodes: OptionalCount = None,
    seed: Size = 0,
    workers: OptionalCount = None,
    output: Path | None = None,
    force: bool = False,
) -> None:
    """Collect an OGBench data set on this machine, with OGBench's own scripted oracles.

    The data is collected like OGBench's own and has the same file format. The same seed gives the
    same bytes with any number of workers. You may stop or kill it at any time; the same command
    continues.

    Args:
        task: A cube, scene, puzzle, pointmaze or antmaze data set, such as cube-single-noisy-v0.
        episodes: Training episodes; by default as many as OGBench has. A tenth as many are
            collected for validation. If there is a smaller data set already, only the missing
            episodes are collected.
        seed: The seed of all random draws.
        workers: Processes; by default one for each processor.
        output: The directory for the files; by default $GOALSETS_DATA, or ~/.goalsets/data.
        force: Replace an existing data set or unfinished collection with different settings.
    """
    from rich.console import Console

    from goalsets.collect import CollectStopped
    from goalsets.collect import collect as run
    from goalsets.collect.progress import CollectScreen

    try:
        with CollectScreen(Console(stderr=True)) as screen:
            done = run(
                task,
                episodes=episodes,
                seed=seed,
                workers=workers,
                output=output,
                force=force,
                watch=screen,
            )
    except CollectStopped as stopped:
        print(stopped, file=sys.stderr)
        raise SystemExit(130) from None
    size = sum(path.stat().st_size for path in (done.train, done.validation)) / 1e6
    had = "collected" if done.collected else "already there:"
    print(f"{had} {done.train} and {done.validation.name}, {size:,.1f} MB")
    where = "" if output is None else f" --directory {output}"
    print(f"next: goalsets data import ogbench {task}{where}")
