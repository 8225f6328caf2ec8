"""A world: one environment as the playground needs it, with any simulator.

MuJoCo's environments are drawn from the positions of their joints, others from their observations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.envs.tasks import Task

Floats = NDArray[np.float32]

_STEP_SECONDS = 0.05
"""Seconds of a step in a world without a clock."""


class Frame(NamedTuple):
    """One moment: enough to judge it and to draw it again."""

    observation: Floats
    """`[D]`."""
    pose: Floats
    """`[Q]`, the positions of MuJoCo's joints; empty for worlds without."""


class WorldError(GoalsetsError):
    """A world broke, or cannot do what was asked; the message says which."""


class World:
    """One environment, to start, step, push and observe.

    Args:
        task: The task.
        render: Whether it will be drawn.
    """

    def __init__(self, task: Task, *, render: bool = False) -> None:
        """Create the environment."""
        self.task = task
        self.adapter = task.open(render)

    @property
    def observation(self) -> Floats:
        """The last observation, `[D]`."""
        return self.adapter.observation

    @property
    def physics(self) -> tuple[Any, Any] | None:
        """MuJoCo's model and data, once it was started; None for worlds without."""
        return self.adapter.physics

    @property
    def step_seconds(self) -> float:
        """How long a step takes in the world's own time."""
        return self.adapter.step_seconds or _STEP_SECONDS

    def start(self, task_id: int, seed: int) -> Floats:
        """Start an episode, and return the official goal `[D]`."""
        return self.adapter.start(task_id, seed).goal

    def step(self, action: NDArray[np.floating]) -> None:
        """Do one step. The environment's termination is ignored: the playground decides."""
        if not np.isfinite(action).all():
            raise WorldError("the policy answered with numbers that are not finite.")
        before = self.observation
        if not np.isfinite(self.adapter.step(action).observation).all():
            self.adapter.observation = before
            raise WorldError("the simulation became unstable: the state is not finite.")

    def frame(self) -> Frame:
        """The present moment."""
        physics = self.physics
        pose = () if physics is None else physics[1].qpos
        return Frame(self.observation.copy(), np.array(pose, dtype=np.float32))

    @property
    def pushes(self) -> str | None:
        """What `push` pushes, in a word; None if nothing can be pushed."""
        return self.adapter.pushes

    def push(self, rng: np.random.Generator) -> None:
        """Disturb what the task is about."""
        self.adapter.push(rng)

    def close(self) -> None:
        """Free the environment's resources."""
        self.adapter.close()
