"""The start of an episode: decided by its task, official goal and seed, and by nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.envs.seeding import make_environment, reset_seeded

__all__ = ["make_environment", "start_episode"]

Floats = NDArray[np.float32]


def start_episode(
    env: Any,  # noqa: ANN401 - a Gymnasium environment, whose types say nothing
    task_id: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """Reset an environment, and return the first observation and the official goal state."""
    observation, info = reset_seeded(env, seed, {"task_id": task_id})
    return np.asarray(observation, dtype=np.float32), np.asarray(info["goal"], dtype=np.float32)
