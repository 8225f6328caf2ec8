"""Which state becomes the reference of a relabeled transition.

The current state, a state further along the same trajectory, or any state of the data. Along the
trajectory the offset is ⌊u^α H⌋ + 1 with u uniform, clipped at the episode's end: α = 2 prefers
near futures and keeps far ones possible (paper, appendix "Data Sampling and Relabeling").
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError

Rows = NDArray[np.int64]

RANDOM = -1
"""The number of steps to a goal that does not lie ahead on the same trajectory."""


class StateSource(Protocol):
    """Where random states come from."""

    def draw_states(self, count: int, rng: np.random.Generator) -> Rows:
        """Draw states uniformly: their rows."""
        ...


@dataclass(frozen=True)
class Generators:
    """One generator for transitions and goals, one for queries.

    They are apart so that every scheme sees the same goals: a query distribution that draws more
    numbers than another does not move them.
    """

    goals: np.random.Generator
    queries: np.random.Generator

    @classmethod
    def from_seed(cls, seed: int) -> Generators:
        """Derive both from one seed."""
        return cls(np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1)))


@dataclass(frozen=True)
class GoalMixture:
    """A mixture of current, future and random states; the probabilities are normalised."""

    p_current: float = 0.2
    """The goal is the state itself: an immediate positive."""
    p_future: float = 0.5
    """The goal is a later state of the same trajectory."""
    p_random: float = 0.3
    """The goal is any state of the data."""
    horizon: int | None = None
    """H: how far ahead a future goal may be; the run's H_max unless given."""
    exponent: float = 2.0
    """α: how much near futures are preferred."""
    labels: bool = False
    """Whether states are labeled that are at their goals already."""
    window: int | None = None
    """Steps within which the goal must be arrived at, and at which the question must not be
    answered yet (see `goalsets.relabel.direct`); None takes any goal."""
    linger: int = 0
    """With a window: steps after the arrival at which the question is still asked."""
    settled: int = 0
    """With a window: steps for which a goal about an object must have held when it is drawn."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        shares = (self.p_current, self.p_future, self.p_random)
        if min(shares) < 0 or not 0 < sum(shares) < float("inf"):
            raise GoalsetsError(
                f"goal probabilities must be 0 or more and not sum to 0, got {shares}."
            )
        if (self.horizon is not None and self.horizon < 1) or self.exponent <= 0:
            raise GoalsetsError(
                "future goals need horizon >= 1 and exponent > 0, got "
                f"{self.horizon} and {self.exponent}."
            )
        if self.window is not None and self.window < 1:
            raise GoalsetsError(f"direct goals need a window of 1 step or more, got {self.window}.")
        for name in ("linger", "settled"):
            if getattr(self, name) < 0:
                raise GoalsetsError(f"{name} must be 0 steps or more, got {getattr(self, name)}.")

    def within(self, horizon: int) -> GoalMixture:
        """This mixture with a horizon, unless it has its own."""
        return self if self.horizon is not None else dataclasses.replace(self, horizon=horizon)

    def sample(
        self, rows: Rows, ends: Rows, source: StateSource, rng: np.random.Generator
    ) -> tuple[Rows, Rows]:
        """Draw a goal for each transition.

        Args:
            rows: `[B]`, where the transitions start.
            ends: `[B]`, the last rows of their episodes.
            source: Where random goals come from.
            rng: Draws everything; always the same amount, so that the goals of one seed are the
                same under every scheme.

        Returns:
            The goals' rows, and the steps to them along the trajectory: 0 for the current state,
            `RANDOM` for a state that lies elsewhere.
        """
        if self.horizon is None:
            raise GoalsetsError("future goals need a horizon: ask `within` for one.")
        count = len(rows)
        total = self.p_current + self.p_future + self.p_random
        kind = rng.random(count) * total
        ahead = (rng.random(count) ** self.exponent * self.horizon).astype(np.int64) + 1
        goals = np.minimum(rows + ahead, ends)
        current = kind < self.p_current
        goals[current] = rows[current]
        steps = goals - rows
        if self.p_random > 0:
            elsewhere = kind >= self.p_current + self.p_future
            goals = np.where(elsewhere, source.draw_states(count, rng), goals)
            steps[elsewhere] = RANDOM
        return goals, steps


VALUE_GOALS = GoalMixture(labels=True)
"""The paper's mixture for values and critics."""
ACTOR_GOALS = GoalMixture(p_current=0.0, p_future=1.0, p_random=0.0)
"""The paper's mixture for actors: the future only."""
