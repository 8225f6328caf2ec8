"""Certified arrivals: since when the data has been at a goal.

A state of the data certifies its goal set from the moment since when the set has held, not from
the moment that was drawn as the reference: a block that lies there at row 90 may have lain there
since row 40. Whoever was asked for it at row 20 arrived after 20 steps; and at row 50 the question
was answered already, and nothing that happened after it was an answer.

What the moment is depends on the query, and there are more queries than could be tabulated. But a
query is a conjunction of *units* (`goalsets.relabel.units`), so its arrival is the latest of
theirs: one small number for each row and unit says for how long it has held
(`goalsets.relabel.held`), and the arrival is the goal's row less the smallest of the query's
numbers. There are two such tables, of groups and of single coordinates. Each is computed when a
query first needs it, and kept beside the store (`goalsets.relabel.kept`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goalsets.data.store import Split, Store
from goalsets.data.trajectories import Trajectories
from goalsets.relabel.goals import Rows
from goalsets.relabel.held import MOST, Held, held
from goalsets.relabel.kept import Kept
from goalsets.relabel.labels import Candidates
from goalsets.relabel.units import Flags, Floats, Rule
from goalsets.workers import silence

_LONG = 3_000_000
"""Numbers of a table whose computation takes more than a moment."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Knows for every row of some data since when its goal sets have held."""

    rule: Rule
    """Divides queries into units and judges them."""
    data: Trajectories
    """In observation units; its rows are those that are asked for."""
    kept: Kept | None = None
    """Where tables are kept; None computes them anew each time."""
    say: Callable[[str], None] = silence
    """Told of what takes long."""

    @classmethod
    def of_store(
        cls, store: Store, split: Split, rule: Rule, say: Callable[[str], None] = silence
    ) -> Arrivals:
        """Over a split of a store, kept in its directory."""
        kept = Kept(store.path, f"arrivals-{split}", store.fingerprint, say)
        return cls(rule, store.split(split), kept, say)

    @functools.cached_property
    def groups(self) -> Held:
        """`[R, G]`: for how many steps each group has held."""
        return self._table("groups")

    @functools.cached_property
    def coordinates(self) -> Held:
        """`[R, D]`: for how many steps each coordinate has held by itself."""
        return self._table("coordinates")

    def _table(self, kind: Literal["groups", "coordinates"]) -> Held:
        units = self.rule.groups if kind == "groups" else self.rule.coordinates
        shape = (self.data.num_states, len(units))

        def make() -> Iterator[Held]:
            if shape[0] * shape[1] > _LONG:
                self.say(
                    f"working out for how long the {kind} of {shape[0]:,} states have held; "
                    "this is done once."
                )
            return held(self.data.observations, self.data.offsets, units)

        if 0 in shape:
            return np.empty(shape, np.uint16)
        if self.kept is None:
            return np.concatenate(list(make()))
        # A plain array: numpy asks a np.memmap about itself at every step of the way.
        return np.asarray(self.kept.table(kind, units, shape, make))

    def bring(self, masks: Flags) -> None:
        """Have ready now what queries such as these `bool[B, D]` need."""
        self.arrival(np.zeros(len(masks), np.int64), masks)

    def arrival(self, goal_rows: Rows, masks: Flags) -> Rows:
        """The rows `[B]` at which the data arrived at its goals for good.

        Args:
            goal_rows: `[B]`, where the references lie.
            masks: `bool[B, D]`, the queries.
        """
        whole, single = self.rule.divide(masks)
        steps = np.full(len(goal_rows), MOST, np.uint16)
        if whole.any():
            steps = np.minimum(steps, _least(self.groups, goal_rows, whole))
        if single.any():
            steps = np.minimum(steps, _least(self.coordinates, goal_rows, single))
        return goal_rows - steps

    def holds(self, states: Floats, goals: Floats, masks: Flags) -> Flags:
        """Whether states are in their goal sets, all in observation units: `bool[B]`."""
        return self.rule.holds(states, goals, masks)


def _least(table: Held, rows: Rows, active: Flags) -> Held:
    return np.where(active, table.take(rows, 0), np.uint16(MOST)).min(-1)


@dataclass(frozen=True, eq=False)
class ArrivalLabels:
    """A state is at its goal where all units of the query hold: what arrivals count from."""

    rule: Rule
    mean: Floats
    """`[D]`, by which, and by the rule's deviations, the states were standardised."""

    def at_goal(self, candidates: Candidates) -> Flags:
        """Undo the standardisation and judge.

        The state itself is judged, not its row: it may have been there before the arrival, left
        and come back; and a goal of another trajectory has no arrival on this one.
        """
        states = candidates.states * self.rule.std + self.mean
        goals = candidates.goals * self.rule.std + self.mean
        return self.rule.holds(states, goals, candidates.masks)
