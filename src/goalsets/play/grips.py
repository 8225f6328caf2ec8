"""Which parts of a ghost can be dragged, and which numbers of the state change then."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.envs.tasks import Task
from goalsets.play.world import Floats

Vector = NDArray[np.float64]

_MAZE_HEIGHT = 0.5
"""The height of handles in a maze."""


@dataclass(frozen=True)
class Grip:
    """A thing that can be dragged."""

    name: str
    """Its name in questions, such as `block0`."""
    layout: StateLayout
    position: str
    """The group of its position, with two or three coordinates."""
    heading: str | None = None
    """The group of its (cosine, sine), if it can be turned."""
    orientation: str | None = None
    """The group of its quaternion, if it has one beside the heading."""
    scale: float = 1.0
    """Observation units per unit of the scene."""
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The observation's origin in the scene."""
    bounds: tuple[tuple[float, ...], tuple[float, ...]] = ((-1e3,) * 3, (1e3,) * 3)
    """Lowest and highest place in the scene."""

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that change when it is dragged."""
        return tuple(g for g in (self.position, self.heading, self.orientation) if g is not None)

    @property
    def planar(self) -> bool:
        """Whether it only moves in a plane."""
        return len(self._indices(self.position)) == 2

    def place(self, state: Floats) -> Vector:
        """Its position in the scene, for a state."""
        found = np.array([0.0, 0.0, _MAZE_HEIGHT])
        values = np.asarray(state[self._indices(self.position)], dtype=np.float64)
        found[: len(values)] = values / self.scale + self.centre[: len(values)]
        return found

    def yaw(self, state: Floats) -> float:
        """Its heading in radians; 0 if it has none."""
        if self.heading is None:
            return 0.0
        cosine, sine = state[self._indices(self.heading)]
        return math.atan2(sine, cosine)

    def put(self, state: Floats, place: tuple[float, float, float], yaw: float) -> Floats:
        """The state with this thing elsewhere, within bounds."""
        changed = state.copy()
        indices = self._indices(self.position)
        reachable = np.clip(np.asarray(place), *np.array(self.bounds))
        changed[indices] = ((reachable - self.centre) * self.scale)[: len(indices)]
        if self.heading is not None:
            changed[self._indices(self.heading)] = math.cos(yaw), math.sin(yaw)
        if self.orientation is not None:
            upright = math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)
            changed[self._indices(self.orientation)] = upright
        return changed

    def _indices(self, name: str) -> list[int]:
        return list(self.layout.by_name[name].indices)


def grips_of(task: Task) -> list[Grip]:
    """Everything that can be dragged in the ghost of a task."""
    names = task.layout.by_name
    scene = task.scene
    found: list[Grip] = []
    for title, group in _known(task.layout) if scene.grips is None else scene.grips:
        thing = group.rpartition("_")[0]
        turns = f"{thing}_yaw" in names
        found.append(
            Grip(
                title,
                task.layout,
                group,
                f"{thing}_yaw" if turns else None,
                f"{thing}_quat" if turns and f"{thing}_quat" in names else None,
                scene.scale,
                scene.centre,
                scene.bounds,
            )
        )
    return found


def _known(layout: StateLayout) -> Iterator[tuple[str, str]]:
    """The things in OGBench's worlds and the tabletop, with the group of their position."""
    for group in layout.by_name:
        thing, _, kind = group.rpartition("_")
        title = thing if thing.startswith("block") else _TITLES.get(thing)
        if title is not None and kind in ("pos", "xy"):
            yield title, group


_TITLES = {"": "point", "eff": "eff (gripper)", "root": "root (torso)", "ball": "ball"}
