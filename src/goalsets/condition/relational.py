"""Relational goal inputs: the object of a query, and its relation to the goal and to the hand.

Deviation: the paper's network sees [s̄, ḡ, q]. It must find out which object a query is about, and
compute where the object is relative to the hand. This conditioner gives both to the network (our
addition; docs/direct.md has the equations and measures each part). Beside [s̄, ḡ, q] it gives

    g ⊖ s     for each active group, in the group's own metric: a difference, a relative angle
              (cos − 1, sin), a relative quaternion
    s ⊖ r     for each group that a layout declares relative to r: its value relative to r

Of objects that are alike, it gives only the *focused* one (`goalsets.condition.objects`). So a
network learns one skill for all objects. A query about several objects is solved one object after
another. With the inputs `focused`, an actor sees an object only if the question is about it, or if
more is left of the question than the place of the hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from goalsets.condition.base import Conditioner, GoalSetConditioner, join
from goalsets.condition.differences import (
    Differences,
    Units,
    columns_of,
    constant,
    numbers,
    take,
    where,
)
from goalsets.condition.objects import Objects
from goalsets.condition.reached import Reached
from goalsets.condition.relations import Relations
from goalsets.core import Group, StateLayout
from goalsets.core.metrics import Array
from goalsets.core.objects import Family, beside_places, families
from goalsets.data.normaliser import Normaliser


class RelationalConditioner(Conditioner):
    """Relational goal inputs; `base` decides which coordinates of a goal they may contain.

    Args:
        base: The scheme's conditioner.
        layout: The groups, their metrics and kinds, and which group is relative to which.
        normaliser: The normaliser of the states, which arrive standardised.
        relations: The inputs to give.
        slots: Gives [s̄, ḡ, q] of the coordinates that belong to no object.
    """

    def __init__(
        self,
        base: Conditioner,
        layout: StateLayout,
        normaliser: Normaliser,
        relations: Relations,
        slots: GoalSetConditioner,
    ) -> None:
        """Find the coordinates of all parts."""
        super().__init__()
        self.answers, self.hears_queries = base.answers, base.hears_queries
        self._base_heard = base.heard
        self.slots = slots
        found = () if relations.objects == "slots" else families(layout)
        in_objects = _indices(found)
        rest = [i for i in range(layout.dim) if i not in in_objects]
        own = [g for g in layout.groups if not in_objects.intersection(g.indices)]
        loose = [Group.loose(i) for i in rest if layout.owners[i] is None]
        frame = Units(layout, normaliser)
        self._shown = np.array([part * layout.dim + i for part in range(3) for i in rest], np.intp)
        self._parts: list[_Slots | Objects] = [_Slots([*own, *loose], frame, relations)]
        self._parts += [Objects(family, frame, relations) for family in found]
        self._frame = frame
        hidden = _indices(family for family in found if _is_hidden(family, relations))
        kept = [i for i in range(layout.dim) if i not in hidden]
        self.seen = np.array(kept, np.intp) if hidden and kept else None
        touching = beside_places(layout) if relations.others == "focused" else ()
        self._touching = columns_of(touching)
        self._touched = Reached(touching, frame.scales(touching))
        self._symbols = _symbols(layout)
        self.goal_dim = slots.goal_dim
        self.dim = len(self._shown) + sum(part.dim for part in self._parts)

    def heard(self, masks: Array) -> Array:
        """The coordinates that the scheme's conditioner shows; exact groups completely or not.

        A group that is compared exactly is one symbol. A query for a part of it, such as half of a
        one-hot pair, counts as a query for the whole group.
        """
        shown = self._base_heard(masks)
        if self._symbols is None:
            return shown
        together = constant(self._symbols, shown)
        return numbers(shown, together) @ together > 0

    def reseed(self, seed: int) -> None:
        """Seed the random fill."""
        self.slots.reseed(seed)

    def goal_input(self, goals: Array, masks: Array) -> Array:
        """The part that depends on the goal alone: [ḡ, q]. Relations also depend on the state."""
        return self.slots.goal_input(goals, self.heard(masks))

    def forward(self, states: Array, goals: Array, masks: Array) -> Array:
        """States, goals and boolean masks `[B, D]` give `[B, dim]`."""
        masks = self.heard(masks)
        goals = where(masks, goals)  # inactive coordinates may hold anything, even NaN
        raw, raw_goals = self._frame.raw(states), self._frame.raw(goals)
        found = [take(self.slots(states, goals, masks), self._shown)]
        touching = self._touched.missing(
            *(take(x, self._touching) for x in (raw, raw_goals, masks))
        )
        for part in self._parts:
            found += part.shown(raw, raw_goals, masks, touching)
        return join(*found)


class _Slots:
    """Relations of groups that each have their own position in the input."""

    def __init__(self, groups: Sequence[Group], units: Units, relations: Relations) -> None:
        by_name = units.layout.by_name
        compared = groups if relations.differences else []
        seen = [group for group in groups if relations.places and group.relative_to]
        self._columns = columns_of(compared)
        self._differences = Differences(compared, units.scales(compared), near=relations.near)
        self._seen, self._from = (
            columns_of(seen),
            columns_of([by_name[g.relative_to] for g in seen]),
        )
        self._places = relations.places_of(seen, units)
        self.dim = self._differences.dim + self._places.dim

    def shown(
        self, states: Array, goals: Array, masks: Array, touching: Array | None
    ) -> list[Array]:
        """The parts of a goal input, from raw states and goals."""
        del touching
        parts: list[Array] = []
        if len(self._columns):
            columns = self._columns
            here, there = take(states, columns), take(goals, columns)
            parts += self._differences.shown(here, there, take(masks, columns))
        if len(self._seen):
            asked = take(masks, self._seen)
            parts += self._places.shown(take(states, self._from), take(states, self._seen), asked)
        return parts


def _is_hidden(family: Family, relations: Relations) -> bool:
    """Whether an actor's state lacks objects; the focused one is in its goal input."""
    if relations.others == "all":
        return False
    return len(family.names) > 1 or (relations.others == "focused" and family.has_place)


def _indices(found: Iterable[Family]) -> set[int]:
    """The coordinates of all objects of some families."""
    return {i for family in found for groups in family.objects for g in groups for i in g.indices}


def _symbols(layout: StateLayout) -> NDArray[np.float32] | None:
    """Which coordinates are active together, `[D, D]`; None if each is independent."""
    together = np.eye(layout.dim, dtype=np.float32)
    for group in layout.groups:
        if group.metric == "exact":
            together[np.ix_(group.indices, group.indices)] = 1.0
    return together if (together.sum(1) > 1).any() else None
