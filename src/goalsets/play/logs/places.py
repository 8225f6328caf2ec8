"""Places: groups of a layout that are positions in space, to be drawn as points with trails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group, StateLayout
from goalsets.core.metrics import UNITS
from goalsets.play.world import Floats

_METRICS = ("euclidean", "absolute")


@dataclass(frozen=True)
class Place:
    """A group that is a position."""

    group: Group

    @property
    def name(self) -> str:
        """The name of the group."""
        return self.group.name

    @property
    def planar(self) -> bool:
        """Whether it has no height."""
        return len(self.group.indices) == 2

    @property
    def metres(self) -> float:
        """Metres per observation unit."""
        return UNITS[self.group.unit][1] / self.group.scale

    def at(self, states: Floats) -> NDArray[np.float64]:
        """The positions `[..., 3]` in states `[..., D]`, in metres; in a plane, height is 0."""
        values = np.asarray(states, np.float64)[..., list(self.group.indices)] * self.metres
        if self.planar:
            values = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return values


def places_of(layout: StateLayout) -> list[Place]:
    """The groups of two or three coordinates that are measured in metres."""
    return [
        Place(group)
        for group in layout.groups
        if len(group.indices) in (2, 3)
        and group.metric in _METRICS
        and UNITS.get(group.unit, ("",))[0] == "m"
    ]
