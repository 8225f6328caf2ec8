"""Relational goal inputs: the object of a query, and its relation to the goal and to the hand.

Deviation: the paper's network sees [s̄, ḡ, q]. It must find out which object a query is about, and
compute where the object is relative to the hand. This conditioner gives both to the network (our
addition; docs/direct.md has the equations and measures each part). Beside [s̄, ḡ, q] it gives

    g ⊖ s     for each active group, in the group's own metric: a difference, a relative angle
              (cos − 1, sin), a relative quaternion
    s ⊖ r     for each group that a layout declares relative to r: its value relative to r

Of objects that are alike (`goalsets.core.objects`), it gives only the *focused* one: its state, its
goal and both relations. This is the first object that the query asks for and that is not yet at its
goal. So a network learns one skill for all objects. A query about several objects is solved one
object after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.condition.base import Conditioner, GoalSetConditioner, join
from goalsets.condition.differences import Differences, Units, constant, numbers, take, where
from goalsets.core import Group, Registry, StateLayout
from goalsets.core.metrics import Array, distance, namespace
from goalsets.core.objects import Family, families
from goalsets.data.normaliser import Normaliser
from goalsets.relabel.units import EPSILON


@dataclass(frozen=True)
class Relations:
    """The inputs in addition to [s̄, ḡ, q]."""

    differences: bool = True
    """g ⊖ s, in each group's metric."""
    places: bool = True
    """s ⊖ r, for groups that are relative to r."""
    near: bool = True
    """Both also in tolerances, for the last centimetre."""
    multiples: bool = True
    """The angles of s ⊖ r also with their multiples 2 and 4."""
    objects: Literal["slots", "pooled", "focus"] = "focus"
    """Which of the objects that are alike: all of them, each at its own position of the input; the
    mean of those in the query; or the first of those that is not yet at its goal."""
    others: bool = False
    """Whether the actor's state input contains all objects that are alike. If not, the actor sees
    only the focused object, and cannot confuse it with another."""


INPUTS: Registry[Relations | None] = Registry("goal input")
"""The goal inputs, which are chosen independently of the scheme: the paper's `plain`, or
`relational`. Each of the others changes one part of `relational`, to measure its effect."""
INPUTS.add("plain", None)
INPUTS.add("relational", Relations())
INPUTS.add("pooled", Relations(objects="pooled"))
INPUTS.add("slots", Relations(objects="slots"))
INPUTS.add("with-others", Relations(others=True))
INPUTS.add("without-near", Relations(near=False))
INPUTS.add("without-multiples", Relations(multiples=False))
INPUTS.add("without-places", Relations(places=False))
INPUTS.add("without-differences", Relations(differences=False))


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
        self._parts: list[_Slots | _Objects] = [_Slots([*own, *loose], frame, relations)]
        self._parts += [_Objects(family, frame, relations) for family in found]
        self._frame = frame
        if not relations.others:
            alike = _indices(family for family in found if len(family.names) > 1)
            kept = [i for i in range(layout.dim) if i not in alike]
            self.seen = np.array(kept, np.intp) if alike and kept else None
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
        for part in self._parts:
            found += part.shown(raw, raw_goals, masks)
        return join(*found)


class _Slots:
    """Relations of groups that each have their own position in the input."""

    def __init__(self, groups: Sequence[Group], units: Units, relations: Relations) -> None:
        by_name = units.layout.by_name
        compared = groups if relations.differences else []
        seen = [group for group in groups if relations.places and group.relative_to]
        self._columns = _columns(compared)
        self._differences = Differences(compared, units.scales(compared), near=relations.near)
        self._seen, self._from = _columns(seen), _columns([by_name[g.relative_to] for g in seen])
        self._places = _places(seen, units, relations)
        self.dim = self._differences.dim + self._places.dim

    def shown(self, states: Array, goals: Array, masks: Array) -> list[Array]:
        """The parts of a goal input, from raw states and goals."""
        parts: list[Array] = []
        if len(self._columns):
            columns = self._columns
            here, there = take(states, columns), take(goals, columns)
            parts += self._differences.shown(here, there, take(masks, columns))
        if len(self._seen):
            asked = take(masks, self._seen)
            parts += self._places.shown(take(states, self._from), take(states, self._seen), asked)
        return parts


class _Objects:
    """Relations of objects that are alike: only those of the focused one, or their mean."""

    def __init__(self, family: Family, units: Units, relations: Relations) -> None:
        self._pooled = relations.objects == "pooled"
        self._columns = np.stack([_columns(groups) for groups in family.objects])
        self._count, width = self._columns.shape
        self._groups = family.objects[0]
        ends = np.cumsum([len(group.indices) for group in self._groups]).tolist()
        self._spans = [
            slice(end - len(group.indices), end)
            for group, end in zip(self._groups, ends, strict=True)
        ]
        self._middle = units.mean[self._columns].mean(0)
        self._scale = np.sqrt((units.std[self._columns] ** 2).mean(0))
        compared = self._groups if relations.differences else ()
        scale = self._scale if compared else self._scale[:0]
        self._differences = Differences(compared, scale, near=relations.near)
        named = zip(self._groups, family.seen_from, strict=True)
        pairs = [(group, name) for group, name in named if relations.places and name]
        seen = [group for group, _ in pairs]
        # The positions of groups with a `relative_to` among an object's coordinates.
        lies = {group.name: span for group, span in zip(self._groups, self._spans, strict=True)}
        self._seen = np.concatenate(
            [np.arange(lies[g.name].start, lies[g.name].stop) for g in seen] or [_NOTHING]
        )
        self._from = _columns([units.layout.by_name[name] for _, name in pairs])
        self._places = _places(seen, units, relations)
        # An object with a relative position needs no name: its position identifies it.
        self._named = self._count > 1 and not seen
        self._ramp = np.linspace(0.5, 0.0, self._count, dtype=np.float32)
        self.dim = 1 + 3 * width + self._differences.dim + self._places.dim
        self.dim += 2 * self._count if self._named else 0

    def shown(self, states: Array, goals: Array, masks: Array) -> list[Array]:
        """The parts of a goal input, from raw states and goals."""
        here, there = take(states, self._columns), take(goals, self._columns)
        active = take(masks, self._columns)
        asked = numbers(active.any(-1), here)
        # Objects without a position cannot be identified by it, and one action may change several
        # of them, as a button changes its neighbours. So all objects that are not at their goals
        # are named.
        wrong = asked * self._missing(here, there, active) if self._count > 1 else asked
        weights = self._weights(asked, wrong)
        chosen, goal = _pool(weights, here), _pool(weights, there)
        shares = _pool(weights, numbers(active, here))
        any_asked = weights.sum(-1)[..., None]
        scale, middle = constant(self._scale, states), constant(self._middle, states)
        parts = [any_asked, shares, (chosen - any_asked * middle) / scale]
        parts.append(shares * ((goal - middle) / scale))
        if self._differences.dim:
            parts += self._differences.shown(chosen, goal, shares > 0)
        if len(self._seen):
            place = take(chosen, self._seen)
            shown = take(any_asked, np.zeros_like(self._seen)) > 0
            parts += self._places.shown(take(states, self._from), place, shown)
        return [*parts, weights, wrong] if self._named else parts

    def _weights(self, asked: Array, wrong: Array) -> Array:
        """The weight of each object, `[..., n]`; weights sum to 1, or to 0 if none is asked for."""
        if self._count == 1:
            return asked
        if self._pooled:
            return asked / namespace(asked).clip(asked.sum(-1)[..., None], 1.0, None)
        # The first that is asked for and not at its goal; otherwise the first that is asked for.
        rank = asked * (1.0 + wrong + constant(self._ramp, asked))
        first = rank == namespace(rank).amax(rank, -1)[..., None]
        return asked * numbers(first, asked)

    def _missing(self, here: Array, there: Array, active: Array) -> Array:
        """1 for each object that is not at its goal, `[..., n]`."""
        here, there = where(active, here), where(active, there)
        missing = None
        for group, span in zip(self._groups, self._spans, strict=True):
            at, to = here[..., span], there[..., span]
            if group.tolerance is None:
                apart = (at - to) / constant(self._scale[span], at)
                far = (apart * apart).sum(-1) > EPSILON * numbers(active[..., span], at).sum(-1)
            else:
                far = distance(group.metric, at, to) > group.tolerance
            missing = far if missing is None else missing | far
        assert missing is not None
        return numbers(missing, here)


def _places(seen: Sequence[Group], units: Units, relations: Relations) -> Differences:
    """The differences of groups to those that they are relative to."""
    return Differences(
        seen, units.even_scales(seen), near=relations.near, multiples=relations.multiples
    )


_NOTHING = np.empty(0, np.intp)


def _indices(found: Iterable[Family]) -> set[int]:
    """The coordinates of all objects of some families."""
    return {i for family in found for groups in family.objects for g in groups for i in g.indices}


def _columns(groups: Sequence[Group]) -> NDArray[np.intp]:
    """The coordinates of groups, one group after another."""
    return np.array([index for group in groups for index in group.indices], np.intp)


def _symbols(layout: StateLayout) -> NDArray[np.float32] | None:
    """Which coordinates are active together, `[D, D]`; None if each is independent."""
    together = np.eye(layout.dim, dtype=np.float32)
    for group in layout.groups:
        if group.metric == "exact":
            together[np.ix_(group.indices, group.indices)] = 1.0
    return together if (together.sum(1) > 1).any() else None


def _pool(weights: Array, values: Array) -> Array:
    """Σ_n w_n x_n of weights `[..., n]` and values `[..., n, k]`."""
    return (weights[..., None] * values).sum(-2)
