"""Success labels: whether a state already belongs to the goal set.

There are four rules. By *predicate*, as the paper defines it: c_{g,q}(s) = [d_q(s, g) ≤ ε] on
standardised coordinates, so that one ε fits every query. By *terms*: every group is within its own
tolerance, in observation units, as success is judged at run time. By *identity*: only the sampled
state itself is at the goal, as in the paper's released code. By *arrival*: see
`goalsets.relabel.arrivals`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.core.goalset import all_terms_hold, mean_squared_distance
from goalsets.relabel.goals import Rows

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Candidates:
    """The inputs of labels: B states, each with a goal and a query."""

    states: Floats
    """`[B, D]`, standardised."""
    goals: Floats
    """`[B, D]`, standardised."""
    masks: Flags
    """`[B, D]`."""
    rows: Rows
    """`[B]`, the rows of the states in the data."""
    goal_rows: Rows
    """`[B]`, the rows of the goals in the data."""


class Labels(Protocol):
    """A rule that tells which states are at their goals."""

    def at_goal(self, candidates: Candidates) -> Flags:
        """Return `bool[B]`."""
        ...


@dataclass(frozen=True)
class PredicateLabels:
    """d_q ≤ ε on standardised coordinates: the paper's predicate."""

    epsilon: float = 0.02
    """ε: the largest mean squared difference at a goal, in squared standard deviations."""

    def at_goal(self, candidates: Candidates) -> Flags:
        """Compare under the query; a state is always at the goal that it is itself."""
        apart = mean_squared_distance(candidates.states, candidates.goals, candidates.masks)
        return apart <= self.epsilon


@dataclass(frozen=True)
class TermLabels:
    """Every group within its tolerance, in observation units."""

    layout: StateLayout
    mean: Floats
    """`[D]`: the mean with which the states were standardised."""
    std: Floats
    """`[D]`: the deviation."""

    def at_goal(self, candidates: Candidates) -> Flags:
        """Undo the standardisation and compare as `GoalSet` does."""
        states = candidates.states * self.std + self.mean
        goals = candidates.goals * self.std + self.mean
        return all_terms_hold(self.layout, states, goals, candidates.masks)


@dataclass(frozen=True)
class IdentityLabels:
    """Only the state that was drawn as the goal is at the goal."""

    def at_goal(self, candidates: Candidates) -> Flags:
        """Compare rows."""
        return candidates.rows == candidates.goal_rows
