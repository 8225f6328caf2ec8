"""Tiny runs on any task: random actions are data enough to act, though not to act well."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from goalsets import Episode
from goalsets.data.writer import write_store
from goalsets.envs.tasks import TASKS
from goalsets.runs.run import Run
from tests.evaluate.conftest import make_run

STEPS = 30


def tiny_run(path: Path, task: str, learner: str = "gcdl", name: str = "run") -> Run:
    """A run, and beside it the store that it was trained on."""
    world = TASKS[task].open()
    rng = np.random.default_rng(0)
    episodes: list[Episode] = []
    for seed in range(3):
        observations = [world.start(1 + seed, seed).observation]
        actions = rng.uniform(-1, 1, (STEPS, *world.action_space.shape)).astype(np.float32)
        observations += [world.step(a).observation for a in actions]
        episodes.append(Episode(np.stack(observations), actions))
    world.close()
    layout = TASKS[task].layout
    store = write_store(path / task, episodes[:2], episodes[2:], layout=layout, source="random")
    return make_run(path / name, store, task=task, steps=2, learner=learner, hidden=32)
