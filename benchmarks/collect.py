"""Data collection compared with the bare environment, on every core at once.

Each process takes turns: it collects an episode like a worker of a collection, with oracle and
noise, and then replays the same actions from the same start in a plain OGBench environment. Turns
last a second or two, so that other load affects both alike. The last line compares a whole
collection, with processes and files, with the loops of its workers.
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
from goalsets.collect import collect, recipe_for

TASKS = (
    "cube-single-noisy-v0",
    "cube-double-play-v0",
    "scene-play-v0",  # repeats episodes that lose the cube, which makes our rate lower
    "pointmaze-medium-navigate-v0",
)
SECONDS = 30.0


def lines() -> Iterator[Line]:
    """Yield the lines."""
    workers = len(os.sched_getaffinity(0))
    rates: dict[str, float] = {}
    for task in TASKS:
        bare, rates[task] = _by_turns(task, workers)
        yield Line(f"{task}: bare, {workers} processes", bare, "steps/s")
        yield Line(f"{task}: collected / bare", rates[task] / bare, "", 0.9)
    task = TASKS[0]
    with tempfile.TemporaryDirectory() as directory:
        clock = _Clock()
        collect(task, episodes=30, output=Path(directory), watch=clock)
    yield Line(f"{task}: end to end / its loops", clock.rate() / rates[task], "")


def _by_turns(task: str, workers: int) -> tuple[float, float]:
    """Steps a second of all processes: bare, and collected."""
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(workers), context.Queue()
    processes = [
        context.Process(target=_take_turns, args=(task, number, barrier, answers))
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    found = [answers.get(timeout=SECONDS + 60) for _ in processes]
    for process in processes:
        process.join()
    return sum(bare for bare, _ in found), sum(collected for _, collected in found)


def _take_turns(task: str, number: int, barrier: Barrier, answers: Any) -> None:
    import gymnasium
    import ogbench  # noqa: F401 - registers the environments

    from goalsets.collect.behaviour import make_driver
    from goalsets.collect.episode import Job, collect_episode

    gymnasium.logger.min_level = gymnasium.logger.ERROR  # float64 bounds, at every construction
    recipe = recipe_for(task)
    driver = make_driver(recipe)
    mode = {} if "maze" in recipe.env_id else {"mode": "data_collection"}
    made = gymnasium.make(recipe.env_id, terminate_at_goal=False, max_episode_steps=1 << 30, **mode)
    plain = made.unwrapped  # without the checks that Gymnasium wraps around it
    plain.reset(seed=0)  # the first reset compiles the model
    driver.begin(0, np.random.default_rng(0))
    barrier.wait()
    steps, collecting, replaying = 0, 0.0, 0.0
    for index in itertools.count():
        start = time.perf_counter()
        rows = collect_episode(driver, recipe, number, Job("train", index))
        middle = time.perf_counter()
        randomness = np.random.SeedSequence(number, spawn_key=(0, index, 0)).spawn(2)
        np.random.seed(randomness[1].generate_state(4))  # noqa: NPY002 - as OGBench draws
        plain.reset(seed=int(randomness[0].generate_state(1)[0]))
        for action in rows["actions"].astype(np.float64):
            plain.step(action)
        collecting += middle - start
        replaying += time.perf_counter() - middle
        steps += len(rows["actions"])
        if collecting + replaying > SECONDS:
            break
    answers.put((steps / replaying, steps / collecting))


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
        """Steps a second from the first episode to the last but one, without start and end."""
        inner = self.events[: len(self.events) - 1]
        return sum(steps for _, steps in inner[1:]) / (inner[-1][0] - inner[0][0])
