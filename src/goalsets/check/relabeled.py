"""Relabel episodes with one question: rows at which it was open, and steps until it was answered.

A held-out state g is the reference. The question has been answered since its *arrival*

    a = g − min over the terms of held[g, term]

(`goalsets.relabel.arrivals`). So at a row t < a the question was open, and the data's actions led
to the answer in a − t steps. Rows are drawn separately for each horizon, so that near and far goals
count alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.data.trajectories import Trajectories
from goalsets.relabel.held import held
from goalsets.relabel.units import Unit

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]

HORIZONS = ((1, 10), (11, 30), (31, 100))
"""The horizons: ranges of steps to the arrival, each from and to."""
_CANDIDATES = 60_000
"""References to try for a question."""


@dataclass(frozen=True, eq=False)
class Asked:
    """N rows of some data at which a question was open."""

    rows: Rows
    """`[N]`, the rows at which the question is asked."""
    goals: Rows
    """`[N]`, the rows of the references."""
    steps: Rows
    """`[N]`, steps to the arrival; 1 or more."""

    def __len__(self) -> int:
        """N."""
        return len(self.rows)

    def where(self, chosen: NDArray[np.bool_] | Rows | slice) -> Asked:
        """The chosen rows."""
        return Asked(self.rows[chosen], self.goals[chosen], self.steps[chosen])

    def within(self, horizon: tuple[int, int]) -> Asked:
        """The rows whose arrival is within a horizon."""
        return self.where((self.steps >= horizon[0]) & (self.steps <= horizon[1]))


class Relabeler:
    """Relabels data with questions; the table of a term is computed once.

    Args:
        data: The episodes.
        settled: Steps for which a goal about an object must have held, as in the run's training.
        horizons: Steps to the arrival, each from and to, in order.
    """

    def __init__(
        self,
        data: Trajectories,
        settled: int = 0,
        horizons: Sequence[tuple[int, int]] = HORIZONS,
    ) -> None:
        """Compute nothing yet."""
        self.data = data
        self.horizons = tuple(horizons)
        self._settled = settled
        self._held: dict[Unit, NDArray[np.uint16]] = {}
        lengths = np.diff(data.offsets)
        self._starts = np.repeat(data.offsets[:-1], lengths)

    def held(self, question: Question) -> NDArray[np.uint16]:
        """For each row as its own reference: for how many steps the question has held."""
        columns = [self._column(unit) for unit in question.units]
        return np.minimum.reduce(columns)

    def _column(self, unit: Unit) -> NDArray[np.uint16]:
        if unit not in self._held:
            parts = list(held(self.data.observations, self.data.offsets, [unit]))
            self._held[unit] = np.concatenate(parts)[:, 0]
        return self._held[unit]

    def draw(self, question: Question, count: int, rng: np.random.Generator) -> Asked:
        """Draw rows at which a question was open, about equally many for each horizon.

        Args:
            question: The question; its condition on references is used, its goals are not.
            count: The largest number of rows for each horizon.
            rng: Draws the rows.
        """
        goals = self._references(question, rng)
        # If there are few references, each is asked for from several rows.
        goals = np.resize(goals, max(len(goals), 4 * count)) if len(goals) else goals
        since = goals - self.held(question)[goals].astype(np.int64)
        # If it held from the first row of the episode on, the data shows no way to get there.
        went = since > self._starts[goals]
        goals, since = goals[went], since[went]
        found: list[Asked] = []
        for low, high in self.horizons:
            steps = rng.integers(low, high + 1, len(goals))
            rows = since - steps
            inside = np.flatnonzero(rows >= self._starts[goals])
            # A row is used once for each horizon, with any one of its references.
            _, first = np.unique(rows[inside], return_index=True)
            inside = rng.permutation(inside[first])[: 2 * count]
            asked = Asked(rows[inside], goals[inside], steps[inside])
            found.append(asked.where(self._is_open(question, asked)).where(np.s_[:count]))
        return Asked(*(np.concatenate(part) for part in zip(*map(_parts, found), strict=True)))

    def _is_open(self, question: Question, asked: Asked) -> NDArray[np.bool_]:
        """Whether the question does not hold yet: the data may have been there before."""
        states, goals = self.data.states(asked.rows), self.data.states(asked.goals)
        return ~question.goal_set(goals).contains(states)

    def _references(self, question: Question, rng: np.random.Generator) -> Rows:
        rows = np.arange(self.data.num_states)
        if self._settled and question.about_objects:
            rows = rows[self.held(question) >= self._settled]
        if question.where is not None:
            rows = rows[question.where.holds(self.data.observations[rows])]
        return rng.permutation(rows)[:_CANDIDATES]


def _parts(asked: Asked) -> tuple[Rows, Rows, Rows]:
    return asked.rows, asked.goals, asked.steps
