"""Units: the parts of a query that are compared separately, and whether they hold.

A query divides into *units*. A group that is completely active is one unit, with its metric and its
tolerance. If the group has no tolerance, the paper's rule is used: the mean squared difference, in
squared standard deviations, is at most ε. If only a part of a group is active, each active
coordinate is a unit. So is each active coordinate without a group. Such a coordinate may differ by
√ε standard deviations, or not at all if its group is compared exactly.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group, StateLayout
from goalsets.core.metrics import Metric, distance

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

EPSILON = 0.02
"""The paper's ε."""
_BY_PAIRS = 8
"""NumPy sums this many numbers, or more, of a row in another order than from left to right."""


@dataclass(frozen=True)
class Unit:
    """A group, or a single coordinate."""

    indices: tuple[int, ...]
    """Its coordinates of the state."""
    metric: Metric | Literal["relaxed"]
    """A metric, or `relaxed` for the paper's mean squared difference."""
    tolerance: float
    """The largest distance that still holds."""
    scale: tuple[float, ...] = ()
    """The deviations by which `relaxed` divides the coordinates."""

    def values(self, states: Floats) -> Floats:
        """The unit's coordinates `[..., n]` of states `[..., D]`, scaled as `within` needs them."""
        first, last = self.indices[0], self.indices[-1]
        # A slice needs no copy.
        found = states[..., slice(first, last + 1) if self.neighbours else list(self.indices)]
        return found / np.array(self.scale, np.float32) if self.scale else found

    def apart(self, states: Floats, references: Floats) -> Floats:
        """The distance `[...]` between values of this unit, as `GoalSet` measures it."""
        if self.metric != "relaxed":
            return distance(self.metric, states, references)
        delta = states - references
        return (delta * delta).sum(-1) / len(self.indices)

    def within(self, states: Floats, references: Floats) -> Flags:
        """Whether values of this unit `[..., n]` are within the tolerance, `bool[...]`."""
        return self.apart(states, references) <= self.tolerance

    @property
    def neighbours(self) -> bool:
        """Whether the coordinates are next to each other."""
        return self.indices == tuple(range(self.indices[0], self.indices[-1] + 1))

    @property
    def along_rows(self) -> bool:
        """Whether distances are sums along rows in memory; the last bits depend on that."""
        return self.neighbours and len(self.indices) >= _BY_PAIRS


@dataclass(frozen=True, eq=False)
class Rule:
    """Divides queries into units and judges them."""

    layout: StateLayout
    std: Floats
    """`[D]`: the deviations of the data."""
    epsilon: float = EPSILON

    @functools.cached_property
    def groups(self) -> tuple[Unit, ...]:
        """A unit for each group of the layout."""
        return tuple(self._whole(group) for group in self.layout.groups)

    @functools.cached_property
    def coordinates(self) -> tuple[Unit, ...]:
        """A unit for each coordinate."""
        allowed = math.sqrt(self.epsilon)
        exact = [owner is not None and owner.metric == "exact" for owner in self.layout.owners]
        return tuple(
            Unit((index,), "absolute", 0.0 if exact[index] else allowed * float(self.std[index]))
            for index in range(self.layout.dim)
        )

    def _whole(self, group: Group) -> Unit:
        indices = tuple(group.indices)
        if group.tolerance is not None:
            return Unit(indices, group.metric, group.tolerance)
        scale = tuple(float(self.std[index]) for index in indices)
        return Unit(indices, "relaxed", self.epsilon, scale)

    def divide(self, masks: Flags) -> tuple[Flags, Flags]:
        """Divide queries `bool[B, D]` into groups `bool[B, G]` and coordinates `bool[B, D]`."""
        members, sizes, owners = self._membership
        whole = masks.astype(np.float32) @ members == sizes
        return whole[:, :-1], masks & ~whole[:, owners]

    @functools.cached_property
    def masks(self) -> Flags:
        """`bool[G, D]`: the query of each group."""
        return np.swapaxes(self._membership[0], 0, 1)[:-1] > 0

    @functools.cached_property
    def _membership(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """`[D, G + 1]`, 1 where a coordinate belongs to a group; sizes `[G + 1]`; owners `[D]`.

        The last group owns the coordinates without a group. It is never completely active, because
        its size is larger than its number of members.
        """
        number = len(self.layout.groups)
        members = np.zeros((self.layout.dim, number + 1), np.float32)
        owners = np.full(self.layout.dim, number)
        for place, group in enumerate(self.layout.groups):
            members[list(group.indices), place] = 1.0
            owners[list(group.indices)] = place
        sizes: Floats = members.sum(0)
        sizes[-1] = 1.0
        return members, sizes, owners

    def holds(self, states: Floats, goals: Floats, masks: Flags) -> Flags:
        """Whether states are in their goal sets: all three `[B, D]`, in observation units.

        Inactive coordinates may hold anything, even NaN.
        """
        whole, single = self.divide(masks)
        with np.errstate(invalid="ignore"):
            near = np.abs(states - goals) <= self._allowed
            found: Flags = np.all(near | ~single, axis=-1)
            for place, unit in enumerate(self.groups):
                rows = np.flatnonzero(whole[:, place] & found)
                if len(rows):
                    values = unit.values(states[rows]), unit.values(goals[rows])
                    found[rows] = unit.within(*values)
        return found

    @functools.cached_property
    def _allowed(self) -> Floats:
        return np.array([unit.tolerance for unit in self.coordinates], np.float32)
