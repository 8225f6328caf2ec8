"""An episode's start and its official goal are decided by the seed, whatever ran before."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.envs.tasks import TASKS

TASK_NAMES = ["cube-single-noisy-v0", "antmaze-medium-navigate-v0", "pointmaze-medium-navigate-v0"]


@pytest.mark.full
@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_used_environment_starts_as_a_new_one(name: str) -> None:
    fresh, used = TASKS[name].open(), TASKS[name].open()
    for task_id in (1, 4):
        used.start(task_id, seed=task_id)
        for _ in range(10):
            used.step(used.action_space.sample())
    for ours, theirs in zip(fresh.start(2, 7), used.start(2, 7), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = rng.uniform(-1, 1, fresh.action_space.shape or ()).astype(np.float32)
        np.testing.assert_array_equal(fresh.step(action)[0], used.step(action)[0])


def test_seeds_differ() -> None:
    env = TASKS["tabletop-single-v0"].open()
    assert (env.start(1, 0)[0] != env.start(1, 1)[0]).any()
