"""Rollouts compared with the bare environment: the cost of policy, goal set and processes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.line import Line
from goalsets.core import Episode
from goalsets.crew import Crew
from goalsets.data.writer import write_store
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.rollout import EpisodeSpec, roll_out, run_episode
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import load
from goalsets.train.session import train
from goalsets.workers import available_cores, silence

TASK = "cube-single-noisy-v0"
EPISODES = 8
"""For each worker."""


def lines() -> Iterator[Line]:
    """Yield the lines."""
    workers = available_cores()
    with tempfile.TemporaryDirectory() as place:
        run = untrained(Path(place))
        specs = _specs(workers * EPISODES)
        # Both run in the same worker, in turns, while all workers are busy with the same.
        crew = Crew(prepare, (run,), workers, silence)
        told = [answer for _, answer in crew.answer(specs)]
        steps, rolled, bare = (sum(column) for column in zip(*told, strict=True))
        yield Line(f"cube, {workers} workers: bare steps", workers * steps / bare, "steps/s")
        share = 100 * bare / rolled
        yield Line(f"cube, {workers} workers: rollouts of the bare rate", share, "%", 85.0)
        start = time.perf_counter()
        total = sum(result.steps for _, result in roll_out(run, None, specs))
        whole = 100 * (total / (time.perf_counter() - start)) / (workers * steps / bare)
        count = len(specs)
        yield Line(f"  the same with processes started, {count} episodes", whole, "%")


def prepare(run: Path) -> Callable[[EpisodeSpec], tuple[int, float, float]]:
    """In a worker: an episode with the policy, then its actions again in the bare environment."""
    import torch

    torch.set_num_threads(1)
    policy, world = load(run), TASKS[TASK].open()

    def compare(spec: EpisodeSpec) -> tuple[int, float, float]:
        start = time.perf_counter()
        result = run_episode(world, policy, spec)
        rolled = time.perf_counter() - start
        assert result.trace is not None
        start = time.perf_counter()
        world.start(spec.task_id, spec.seed)
        for action in result.trace["actions"]:
            world.env.step(action)
        return result.steps, rolled, time.perf_counter() - start

    return compare


def _specs(count: int) -> list[EpisodeSpec]:
    """Episodes that do not end early, because the goal is out of reach."""
    goal = tuple([50.0] * TASKS[TASK].layout.dim)
    return [EpisodeSpec(TASK, 1 + i % 5, i, "cube_pos", goal, trace=True) for i in range(count)]


def untrained(place: Path, learner: str = "gcbc") -> Path:
    """A run directory of an untrained policy, to measure time."""
    rng = np.random.default_rng(0)
    states = rng.standard_normal((101, 28), dtype=np.float32)
    episode = Episode(states, rng.uniform(-1, 1, (100, 5)).astype(np.float32))
    store = write_store(place / "data", [episode], layout=TASKS[TASK].layout)
    config = TrainConfig(TASK, learner=learner, steps=1, batch_size=8)
    return train(config, store, place / "run").path
