"""A tiny run on a real OGBench environment: random actions are data enough to run a policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from goalsets import Episode
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tasks import TASKS
from goalsets.runs.run import Run
from tests.evaluate.conftest import make_run

TASK = "cube-single-noisy-v0"


def make_real_run(path: Path) -> tuple[Run, Store]:
    world = TASKS[TASK].open()
    rng = np.random.default_rng(0)
    episodes: list[Episode] = []
    for seed in range(4):
        observations = [world.start(1 + seed, seed).observation]
        actions = rng.uniform(-1, 1, (40, 5)).astype(np.float32)
        observations += [world.step(a).observation for a in actions]
        episodes.append(Episode(np.stack(observations), actions))
    store = write_store(
        path / "store", episodes[:2], episodes[2:], layout=TASKS[TASK].layout, source="random"
    )
    return make_run(path / "run", store, task=TASK, steps=2), store
