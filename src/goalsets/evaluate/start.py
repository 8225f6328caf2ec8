"""The start of an episode: decided by its task, official goal and seed, and by nothing else."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from goalsets.envs.tasks import Task

Floats = NDArray[np.float32]


def make_environment(task: Task) -> Any:  # noqa: ANN401 - a Gymnasium environment
    """Create a task's environment without what its libraries say about displays and spaces."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task.make()


def start_episode(
    env: Any,  # noqa: ANN401 - a Gymnasium environment, whose types say nothing
    task_id: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """Reset an environment, and return the first observation and the official goal state."""
    np.random.seed(seed)  # noqa: NPY002 - OGBench's mazes draw from the global generator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they have told us about their spaces
        _seed_actions(env.unwrapped, seed)
        observation, info = env.reset(seed=seed, options={"task_id": task_id})
    return np.asarray(observation, dtype=np.float32), np.asarray(info["goal"], dtype=np.float32)


def _seed_actions(inner: Any, seed: int) -> None:  # noqa: ANN401 - as above
    """Seed the random steps that OGBench takes before it observes a goal.

    They decide where the arm or the legs of the goal state are. The manipulation environments
    build a new action space, with a generator that nobody seeded, each time they are asked for
    theirs: here one gets a class of its own that keeps the first.
    """
    kind = type(inner)
    if isinstance(getattr(kind, "action_space", None), property):
        inner.__class__ = type(kind.__name__, (kind,), {"action_space": inner.action_space})
    inner.action_space.seed(seed)
