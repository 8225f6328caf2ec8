"""Making environments and starting them from a seed, including what OGBench leaves without one."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from goalsets.envs.tasks import Task


def make_environment(task: Task, **kwargs: Any) -> Any:  # noqa: ANN401 - a Gymnasium environment
    """Create a task's environment without what its libraries say about displays and spaces."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task.make(**kwargs)


def reset_seeded(
    env: Any,  # noqa: ANN401 - a Gymnasium environment, whose types say nothing
    seed: int | None,
    options: dict[str, Any] | None,
) -> tuple[Any, dict[str, Any]]:
    """Reset an environment so that the seed, if there is one, decides everything that follows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they have told us about their spaces
        if seed is not None and type(env.unwrapped).__module__.startswith("ogbench"):
            np.random.seed(seed)  # noqa: NPY002 - OGBench's mazes draw from the global generator
            _seed_actions(env.unwrapped, seed)
        return env.reset(seed=seed, options=options)


def _seed_actions(inner: Any, seed: int) -> None:  # noqa: ANN401 - as above
    """Seed the random steps that OGBench takes before it observes a goal.

    They decide where the arm or the legs of the goal state are. The manipulation environments
    build a new action space, with a generator that nobody seeded, each time they are asked for
    theirs: here one gets a class of its own that keeps the first.
    """
    kind = type(inner)
    if isinstance(getattr(kind, "action_space", None), property):
        fields = {"action_space": inner.action_space, "__module__": kind.__module__}
        inner.__class__ = type(kind.__name__, (kind,), fields)
    inner.action_space.seed(seed)
