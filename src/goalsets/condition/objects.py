"""Objects that are alike: which of them a network sees, and what it sees of it.

A network sees the state of the *focused* object, its goal and both relations. This is the first
object, in the layout's order, that the query asks for and that is not yet at its goal.
"""

from __future__ import annotations

import numpy as np

from goalsets.condition.differences import (
    Differences,
    Units,
    columns_of,
    constant,
    numbers,
    take,
)
from goalsets.condition.reached import Reached, spans_of
from goalsets.condition.relations import Relations
from goalsets.core.metrics import Array, namespace
from goalsets.core.objects import Family

_LINES = ("absolute", "euclidean")
"""The metrics of positions."""


class Objects:
    """Relations of objects that are alike: only those of the focused one, or their mean."""

    def __init__(self, family: Family, units: Units, relations: Relations) -> None:
        """Find the coordinates of all objects."""
        self._pooled = relations.objects == "pooled"
        self._columns = np.stack([columns_of(groups) for groups in family.objects])
        self._count, width = self._columns.shape
        groups = family.objects[0]
        self._middle = units.mean[self._columns].mean(0)
        self._scale = np.sqrt((units.std[self._columns] ** 2).mean(0))
        self._reached = Reached(groups, self._scale)
        compared = groups if relations.differences else ()
        scale = self._scale if compared else self._scale[:0]
        self._differences = Differences(compared, scale, near=relations.near)
        spans = [np.arange(span.start, span.stop) for span in spans_of(groups)]
        pairs = [
            (group, units.layout.by_name[name], span)
            for group, name, span in zip(groups, family.seen_from, spans, strict=True)
            if relations.places and name
        ]
        seen = [group for group, _, _ in pairs]
        self._seen = np.concatenate([span for _, _, span in pairs] or [_NOTHING])
        self._from = columns_of([origin for _, origin, _ in pairs])
        self._places = relations.places_of(seen, units)
        lines = [(origin, span) for group, origin, span in pairs if group.metric in _LINES]
        self._position = np.concatenate([span for _, span in lines] or [_NOTHING])
        self._hand = columns_of([origin for origin, _ in lines])
        # An object with a relative position needs no name: its position identifies it.
        self._named = self._count > 1 and not seen
        self._ramp = np.linspace(0.5, 0.0, self._count, dtype=np.float32)
        self.dim = 1 + 3 * width + self._differences.dim + self._places.dim
        self.dim += 2 * self._count if self._named else 0

    def shown(
        self, states: Array, goals: Array, masks: Array, touching: Array | None
    ) -> list[Array]:
        """The parts of a goal input, from raw states and goals.

        Args:
            states: `[..., D]`, not standardised.
            goals: `[..., D]`, likewise.
            masks: `bool[..., D]`.
            touching: `bool[...]`: whether to show the nearest object if none is asked for.
        """
        here, there = take(states, self._columns), take(goals, self._columns)
        active = take(masks, self._columns)
        asked = numbers(active.any(-1), here)
        # Objects without a position cannot be identified by it, and one action may change several
        # of them, as a button changes its neighbours. So all objects that are not at their goals
        # are named.
        wrong = asked
        if self._count > 1:
            wrong = asked * numbers(self._reached.missing(here, there, active), here)
        weights = self._weights(asked, wrong)
        if touching is not None and len(self._position):
            nobody = numbers(touching, here)[..., None] * (1.0 - weights.sum(-1)[..., None])
            weights = weights + nobody * self._nearest(states, here)
        chosen, goal = _pool(weights, here), _pool(weights, there)
        shares = _pool(weights, numbers(active, here))
        any_shown = weights.sum(-1)[..., None]
        scale, middle = constant(self._scale, states), constant(self._middle, states)
        parts = [any_shown, shares, (chosen - any_shown * middle) / scale]
        parts.append(shares * ((goal - middle) / scale))
        if self._differences.dim:
            parts += self._differences.shown(chosen, goal, shares > 0)
        if len(self._seen):
            place = take(chosen, self._seen)
            shown = take(any_shown, np.zeros_like(self._seen)) > 0
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

    def _nearest(self, states: Array, here: Array) -> Array:
        """1 for the object that is nearest to what objects are relative to, `[..., n]`."""
        apart = take(here, self._position) - take(states, self._hand)[..., None, :]
        far = (apart * apart).sum(-1)
        nearest = numbers(far == namespace(far).amin(far, -1)[..., None], here)
        return nearest / nearest.sum(-1)[..., None]


_NOTHING = np.empty(0, np.intp)


def _pool(weights: Array, values: Array) -> Array:
    """Σ_n w_n x_n of weights `[..., n]` and values `[..., n, k]`."""
    return (weights[..., None] * values).sum(-2)
