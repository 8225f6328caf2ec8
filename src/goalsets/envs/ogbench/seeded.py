"""The common part of OGBench's adapters: starts that need more seeds than Gymnasium's."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.envs.adapter import Adapter, Floats, State
from goalsets.envs.task import TASKS

_STARTING = threading.Lock()
"""Starts use numpy's global generator, so only one world of a process may start at a time."""


class OGBenchAdapter(Adapter):
    """An environment of OGBench whose start depends only on the seed."""

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Reset, and also seed the generators that OGBench does not seed."""
        with _STARTING:
            if seed is not None:
                np.random.seed(seed)  # noqa: NPY002 - the mazes use the global generator
                self._seed_actions(seed)
            return super().reset(seed, options)

    def _seed_actions(self, seed: int) -> None:
        """Seed the random steps that OGBench takes before it observes a goal.

        They determine the arm or the legs of the goal state. The manipulation environments build a
        new action space, with an unseeded generator, at each access. Here an environment gets a
        class of its own that keeps the first action space.
        """
        inner, kind = self.inner, type(self.inner)
        if isinstance(getattr(kind, "action_space", None), property):
            fields = {"action_space": inner.action_space, "__module__": kind.__module__}
            inner.__class__ = type(kind.__name__, (kind,), fields)
        inner.action_space.seed(seed)

    @property
    def names(self) -> StateLayout:
        """The environment's own layout; a run may have stored one with other names."""
        name = self.task.name
        return TASKS[name].layout if name in TASKS else self.task.layout

    def part(self, state: State, *groups: str) -> NDArray[np.float64]:
        """The coordinates of some groups in a state, one group after the other."""
        indices = [index for name in groups for index in self.names.group(name).indices]
        return np.asarray(state, dtype=np.float64)[indices]

    def write(self, state: Floats, group: str, values: State | float) -> None:
        """Write the coordinates of a group into a state."""
        state[list(self.names.group(group).indices)] = values


def mujoco() -> Any:  # noqa: ANN401 - the types of the module lack its functions
    """Import MuJoCo, which is loaded only after a simulator exists."""
    import mujoco

    return mujoco


def direction(rng: np.random.Generator) -> NDArray[np.float64]:
    """A random direction in the plane, of length 1."""
    angle = rng.uniform(-np.pi, np.pi)
    return np.array([np.cos(angle), np.sin(angle)])
