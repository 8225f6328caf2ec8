"""Arrivals: the row at which the data entered a goal set and stayed in it.

The reference of a goal is a state of the data, but the data may have entered its goal set earlier.
For example, a block that lies at its goal at row 90 may have been there since row 40. Then a
transition at row 20 reaches the goal after 20 steps. A transition at row 50 is already at the goal,
so its action is not a step towards it.

The arrival depends on the query, and there are too many queries for a table. But a query is a
conjunction of *units* (`goalsets.relabel.units`), so its arrival is the latest arrival of its
units. A table holds for each row and unit the number of steps for which the unit has held
(`goalsets.relabel.held`). The arrival is the goal's row minus the smallest of these numbers over
the query's units. There are two such tables: for groups and for single coordinates. Each is
computed when a query first needs it, and stored beside the data (`goalsets.relabel.kept`).
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
"""The computation of a table with more numbers than this is announced, because it takes time."""


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Finds for every row of some data since when its goal sets have held."""

    rule: Rule
    """Divides queries into units and judges them."""
    data: Trajectories
    """The data, in observation units."""
    kept: Kept | None = None
    """Where tables are stored; None computes them each time."""
    say: Callable[[str], None] = silence
    """Called with a message about long computations."""

    @classmethod
    def of_store(
        cls, store: Store, split: Split, rule: Rule, say: Callable[[str], None] = silence
    ) -> Arrivals:
        """The arrivals of a split of a store; tables are stored in its directory."""
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
                    f"computing for how long the {kind} of {shape[0]:,} states have held; "
                    "this is done once."
                )
            return held(self.data.observations, self.data.offsets, units)

        if 0 in shape:
            return np.empty(shape, np.uint16)
        if self.kept is None:
            return np.concatenate(list(make()))
        # A plain array is faster: np.memmap adds work to every operation.
        return np.asarray(self.kept.table(kind, units, shape, make))

    def bring(self, masks: Flags) -> None:
        """Compute or read now the tables that queries such as these `bool[B, D]` need."""
        self.arrival(np.zeros(len(masks), np.int64), masks)

    def arrival(self, goal_rows: Rows, masks: Flags) -> Rows:
        """The rows `[B]` at which the data entered its goal sets and stayed until the references.

        Args:
            goal_rows: `[B]`, the rows of the references.
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
    """Labels by arrival: a state is at its goal if all units of the query hold."""

    rule: Rule
    mean: Floats
    """`[D]`: the mean with which the states were standardised; the rule has the deviations."""

    def at_goal(self, candidates: Candidates) -> Flags:
        """Undo the standardisation and judge.

        The state itself is judged, not its row. A trajectory may have been at the goal before the
        arrival, and left it again. And a goal from another trajectory has no arrival on this one.
        """
        states = candidates.states * self.rule.std + self.mean
        goals = candidates.goals * self.rule.std + self.mean
        return self.rule.holds(states, goals, candidates.masks)
