"""What OGBench's environments have in common: starts that need more than Gymnasium's seed."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.envs.adapter import Adapter, Floats, State
from goalsets.envs.task import TASKS

_STARTING = threading.Lock()
"""Starts draw from the global generator: one world of a process starts at a time."""


class OGBenchAdapter(Adapter):
    """An environment of OGBench, started so that the seed decides everything."""

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Reset; also what OGBench leaves without a seed gets one."""
        with _STARTING:
            if seed is not None:
                np.random.seed(seed)  # noqa: NPY002 - the mazes draw from the global generator
                self._seed_actions(seed)
            return super().reset(seed, options)

    def _seed_actions(self, seed: int) -> None:
        """Seed the random steps that OGBench takes before it observes a goal.

        They decide where the arm or the legs of the goal state are. The manipulation environments
        build a new action space, with a generator that nobody seeded, each time they are asked for
        theirs: here one gets a class of its own that keeps the first.
        """
        inner, kind = self.inner, type(self.inner)
        if isinstance(getattr(kind, "action_space", None), property):
            fields = {"action_space": inner.action_space, "__module__": kind.__module__}
            inner.__class__ = type(kind.__name__, (kind,), fields)
        inner.action_space.seed(seed)

    @property
    def names(self) -> StateLayout:
        """The environment's own layout: a run may have kept one with other names."""
        name = self.task.name
        return TASKS[name].layout if name in TASKS else self.task.layout

    def part(self, state: State, *groups: str) -> NDArray[np.float64]:
        """The coordinates of some groups in a state, one group after the other."""
        indices = [index for name in groups for index in self.names.group(name).indices]
        return np.asarray(state, dtype=np.float64)[indices]

    def write(self, state: Floats, group: str, values: State | float) -> None:
        """Write the coordinates of a group into a state."""
        state[list(self.names.group(group).indices)] = values


def mujoco() -> Any:  # noqa: ANN401 - a module whose functions its types do not name
    """MuJoCo, which is imported only where a simulator is there already."""
    import mujoco

    return mujoco


def direction(rng: np.random.Generator) -> NDArray[np.float64]:
    """Any direction in the plane, of length 1."""
    angle = rng.uniform(-np.pi, np.pi)
    return np.array([np.cos(angle), np.sin(angle)])
