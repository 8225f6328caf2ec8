"""A world: one environment as the playground needs it, whatever simulates it.

MuJoCo's environments are drawn from the positions of their joints, the tabletop from what is
observed. Both are asked through `World`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.envs.tabletop import TabletopEnv
from goalsets.envs.tabletop.states import WORKSPACE, blocks_of
from goalsets.envs.tasks import Task
from goalsets.evaluate.start import make_environment, start_episode

Floats = NDArray[np.float32]

STARTING = threading.Lock()
"""OGBench's mazes draw their starts from the global generator: one world starts at a time."""
_CUBE_SPEED = 1.2
"""Metres a second: on the table a cube then slides for some centimetres."""
_CREATURE_SPEED = 3.0
_POINT_JUMP = 1.0
_ARM_SPEED = 1.5
_TABLETOP_SPEED = 0.1
"""Seconds a step of the tabletop stands for."""
_BLOCK_JUMP = 0.8


class Frame(NamedTuple):
    """One moment: enough to judge it and to draw it again."""

    observation: Floats
    """`[D]`."""
    pose: Floats
    """`[Q]`, the positions of MuJoCo's joints; empty for worlds without."""


class WorldError(GoalsetsError):
    """A world that broke, or cannot do what was asked; the message says which."""


class World:
    """One environment that is started, stepped, pushed and looked at.

    Args:
        task: Of which world.
        env: Its environment; by default a new one.
    """

    def __init__(self, task: Task, env: Any = None) -> None:  # noqa: ANN401 - Gymnasium's
        """Create the environment."""
        self.task = task
        self.env: Any = make_environment(task) if env is None else env
        self._inner: Any = self.env.unwrapped
        self.observation = np.zeros(task.layout.dim, dtype=np.float32)

    @property
    def physics(self) -> tuple[Any, Any] | None:
        """MuJoCo's model and data, once it was started; None for the tabletop."""
        if isinstance(self._inner, TabletopEnv):
            return None
        if hasattr(self._inner, "_model"):
            return self._inner._model, self._inner._data
        return self._inner.model, self._inner.data

    @property
    def step_seconds(self) -> float:
        """How long a step takes in the world's own time."""
        if isinstance(self._inner, TabletopEnv):
            return _TABLETOP_SPEED
        return float(getattr(self._inner, "_control_timestep", None) or self._inner.dt)

    def start(self, task_id: int, seed: int) -> Floats:
        """Start an episode, and return the official goal `[D]`."""
        with STARTING:
            self.observation, official = start_episode(self.env, task_id, seed)
        return official

    def step(self, action: NDArray[np.floating]) -> None:
        """Do one step. Its wish to end an episode does not count: the playground judges."""
        if not np.isfinite(action).all():
            raise WorldError("the policy answered with numbers that are not finite.")
        observation = np.asarray(self.env.step(action)[0], dtype=np.float32)
        if not np.isfinite(observation).all():
            raise WorldError("the simulation became unstable: the state is not finite.")
        self.observation = observation

    def frame(self) -> Frame:
        """The present moment."""
        physics = self.physics
        pose = () if physics is None else physics[1].qpos
        return Frame(self.observation.copy(), np.array(pose, dtype=np.float32))

    @property
    def pushes(self) -> str:
        """What `push` pushes, in a word."""
        return self._pusher()[0]

    def push(self, rng: np.random.Generator) -> None:
        """Disturb what the task is about: a cube, the creature in a maze, or else the arm."""
        self._pusher()[1](rng)

    def close(self) -> None:
        """Free what the environment holds."""
        self.env.close()

    def _pusher(self) -> tuple[str, Callable[[np.random.Generator], None]]:
        if isinstance(self._inner, TabletopEnv):
            return "block", self._push_block
        if getattr(self._inner, "_num_cubes", 0):
            return "cube", self._push_cube
        if not hasattr(self._inner, "set_xy"):
            return "arm", self._push_arm
        name = self.task.family.removesuffix("maze")
        return ("point", self._move_point) if name == "point" else (name, self._push_creature)

    def _push_cube(self, rng: np.random.Generator) -> None:
        """Give a cube a horizontal velocity that leads it towards the middle, not off the table."""
        joint = self._inner._data.joint(f"object_joint_{rng.integers(self._inner._num_cubes)}")
        low, high = self._inner._object_sampling_bounds
        inwards = (low + high) / 2 - joint.qpos[:2]
        angle = np.arctan2(inwards[1], inwards[0]) + rng.uniform(-1.2, 1.2)
        joint.qvel[:2] += _CUBE_SPEED * np.array([np.cos(angle), np.sin(angle)])

    def _push_creature(self, rng: np.random.Generator) -> None:
        self._inner.data.qvel[:2] += _CREATURE_SPEED * _direction(rng)

    def _move_point(self, rng: np.random.Generator) -> None:
        """Move the point, which has no inertia; walls push it out again at the next step."""
        self._inner.set_xy(self._inner.get_xy() + _POINT_JUMP * _direction(rng))

    def _push_arm(self, rng: np.random.Generator) -> None:
        self._inner._data.qvel[self._inner._arm_joint_ids] += rng.uniform(
            -_ARM_SPEED, _ARM_SPEED, len(self._inner._arm_joint_ids)
        )

    def _push_block(self, rng: np.random.Generator) -> None:
        state = self.observation.copy()
        block = blocks_of(state)[rng.integers(self._inner.num_blocks)]
        block[:2] = np.clip(block[:2] + _BLOCK_JUMP * _direction(rng), *WORKSPACE[:, :2])
        self._inner.set_state(state)
        self.observation = state


def _direction(rng: np.random.Generator) -> NDArray[np.float64]:
    angle = rng.uniform(-np.pi, np.pi)
    return np.array([np.cos(angle), np.sin(angle)])
