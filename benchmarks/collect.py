"""Collecting data, end to end, against the bare environment with the same actions.

Both use every core. The collection's rate is that between its first and its last episodes, so
that neither the start of the workers nor their last, uneven moments count; the bare rate is that
of plain OGBench environments which replay the collected actions right afterwards.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.line import Line
from goalsets.data.collect import collect, recipe_for

TASKS = {"cube-single-noisy-v0": 20, "scene-play-v0": 16, "pointmaze-medium-navigate-v0": 120}
"""Episodes of each, enough for a good half minute."""
SECONDS = 15.0


def lines() -> Iterator[Line]:
    """Yield the lines."""
    workers = len(os.sched_getaffinity(0))
    for task, episodes in TASKS.items():
        with tempfile.TemporaryDirectory() as directory:
            clock = _Clock()
            done = collect(task, episodes=episodes, output=Path(directory), watch=clock)
            bare = _bare_rate(task, done.train, workers)
        yield Line(f"{task}: bare steps, {workers} processes", bare, "1/s")
        yield Line(f"{task}: collected / bare", clock.rate() / bare, "", 0.9)


class _Clock:
    """Notes when episodes come in."""

    def __init__(self) -> None:
        self.events: list[tuple[float, int]] = []

    def begin(self, finished: int, total: int) -> None:
        """Nothing to note."""

    def episode(self, steps: int) -> None:
        self.events.append((time.perf_counter(), steps))

    def say(self, text: str) -> None:
        """Nothing to note."""

    def rate(self) -> float:
        """Steps a second between the first and the last but one episode."""
        inner = self.events[: len(self.events) - 1]
        return sum(steps for _, steps in inner[1:]) / (inner[-1][0] - inner[0][0])


def _bare_rate(task: str, data: Path, workers: int) -> float:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(workers), context.Queue()
    processes = [
        context.Process(target=_replay, args=(task, data, barrier, answers)) for _ in range(workers)
    ]
    for process in processes:
        process.start()
    rates = [answers.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    return sum(rates)


def _replay(task: str, data: Path, barrier: Barrier, answers: Any) -> None:
    import gymnasium
    import ogbench  # noqa: F401 - registers the environments

    gymnasium.logger.min_level = gymnasium.logger.ERROR  # float64 bounds, at every construction

    env_id = recipe_for(task).env_id
    mode = {} if "maze" in env_id else {"mode": "data_collection"}
    env = gymnasium.make(env_id, terminate_at_goal=False, max_episode_steps=1 << 30, **mode)
    plain = env.unwrapped  # without the checks that Gymnasium wraps around it
    actions = np.load(data)["actions"].astype(np.float64)
    plain.reset(seed=0)
    for action in actions[:50]:
        plain.step(action)
    barrier.wait()
    start, count = time.perf_counter(), 0
    for action in itertools.cycle(actions):
        if count % 1001 == 0:
            plain.reset(seed=count)
            if time.perf_counter() - start > SECONDS:
                break
        plain.step(action)
        count += 1
    answers.put(count / (time.perf_counter() - start))
