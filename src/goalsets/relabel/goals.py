"""Chooses the state that becomes the reference of a relabeled transition.

The reference is the current state, a later state of the same trajectory, or any state of the data.
The offset of a later state is ⌊u^α H⌋ + 1 with u uniform, clipped at the end of the episode. α = 2
prefers near states and keeps far ones possible (paper, appendix "Data Sampling and Relabeling").
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
"""The number of steps for a goal that is not ahead on the same trajectory."""


class StateSource(Protocol):
    """A source of random states."""

    def draw_states(self, count: int, rng: np.random.Generator) -> Rows:
        """Draw states uniformly: their rows."""
        ...


@dataclass(frozen=True)
class Generators:
    """One generator for transitions and goals, one for queries.

    They are separate so that every scheme sees the same goals, however many numbers its query
    distribution draws.
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
    """The goal is the current state itself."""
    p_future: float = 0.5
    """The goal is a later state of the same trajectory."""
    p_random: float = 0.3
    """The goal is any state of the data."""
    horizon: int | None = None
    """H: how far ahead a future goal may be; by default the run's H_max."""
    exponent: float = 2.0
    """α: the larger, the more near states are preferred."""
    labels: bool = False
    """Whether batches have labels that say which states are already at their goals."""
    window: int | None = None
    """With a window, goals must be direct: not reached yet, and reached within this many steps (see
    `goalsets.relabel.direct`). None accepts any goal."""
    robot_window: int | None = None
    """The window of questions of which only the place of the hand is left; by default `window`."""
    linger: int = 0
    """With a window: for this many steps after the arrival, the goal is still used."""
    settled: int = 0
    """With a window: a goal about an object must have held for this many steps at the reference."""

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
        if self.robot_window is not None and not 1 <= self.robot_window <= (self.window or 0):
            raise GoalsetsError(
                "the window of questions about the robot must be 1 step or more, and at most the "
                f"window of all questions ({self.window}), got {self.robot_window}."
            )
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
            rows: `[B]`, the rows at which the transitions start.
            ends: `[B]`, the last rows of their episodes.
            source: The source of random goals.
            rng: The generator. It always draws the same number of values, so that the goals of one
                seed are the same under every scheme.

        Returns:
            The goals' rows, and the steps to them along the trajectory: 0 for the current state,
            `RANDOM` for random states.
        """
        if self.horizon is None:
            raise GoalsetsError("future goals need a horizon: set it with `within(horizon)`.")
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
"""The paper's mixture for actors: future states only."""
