"""The sampler: data, goals, queries and labels become batches for a learner."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.data.trajectories import Trajectories
from goalsets.data.window import Window
from goalsets.relabel.goals import ACTOR_GOALS, VALUE_GOALS, GoalSampler, Rows
from goalsets.relabel.labels import Candidates, Flags, Floats, Labels, PredicateLabels
from goalsets.relabel.queries import Masks, QueryDistribution


@dataclass(frozen=True)
class Goals:
    """A goal set for each transition of a batch."""

    references: Floats
    """`[B, D]`."""
    masks: Masks
    """`[B, D]`: the queries."""
    steps: Rows
    """`[B]`: steps to the reference along the trajectory, or -1 where it lies elsewhere."""


@dataclass(frozen=True)
class Batch:
    """Relabeled transitions. States and actions are standardised.

    The same transitions serve values and actors, each with goals of their own.
    """

    states: Floats
    """`[B, D]`."""
    actions: Floats
    """`[B, A]`."""
    next_states: Floats
    """`[B, D]`."""
    value_goals: Goals
    """For values and critics: current, future and random goals."""
    actor_goals: Goals
    """For actors: future goals."""
    at_goal: Flags
    """`[B]`: c_{g,q}(s_t) under the value goals."""
    next_at_goal: Flags
    """`[B]`: c_{g,q}(s_{t+1}) under the value goals."""


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
class Sampler:
    """Draws relabeled batches.

    Attributes:
        trajectories: The data, standardised.
        layout: The layout of its states.
        queries: Which variables matter.
        value_goals: Goals for values and critics. None for learners without: the batch then has
            the actor's goals in their place and no labels, and they cost nothing.
        actor_goals: Goals for actors.
        labels: What counts as being at a goal.
        window: Draw from a window of data that is larger than memory.
    """

    trajectories: Trajectories
    layout: StateLayout
    queries: QueryDistribution
    value_goals: GoalSampler | None = VALUE_GOALS
    actor_goals: GoalSampler = ACTOR_GOALS
    labels: Labels = field(default_factory=PredicateLabels)
    window: Window | None = None

    def sample(self, batch_size: int, rng: Generators) -> Batch:
        """Draw a batch."""
        source = self.trajectories if self.window is None else self.window
        rows, ends = source.draw_transitions(batch_size, rng.goals)
        samplers = (
            [self.actor_goals]
            if self.value_goals is None
            else [
                self.value_goals,
                self.actor_goals,
            ]
        )
        drawn = [sampler.sample(rows, ends, source, rng.goals) for sampler in samplers]
        # One draw for all: a distribution's fixed costs are paid once.
        masks = self.queries.sample(self.layout, len(drawn) * batch_size, rng.queries)
        observations = self.trajectories.observations
        # `take` copies whole rows, where indexing with an array goes number by number.
        states, next_states = observations.take(rows, 0), observations.take(rows + 1, 0)
        goals = [
            Goals(observations.take(goal_rows, 0), part, steps)
            for (goal_rows, steps), part in zip(drawn, np.split(masks, len(drawn)), strict=True)
        ]
        at_goal = next_at_goal = np.zeros(batch_size, np.bool_)
        if self.value_goals is not None:
            at_goal = self._label(states, goals[0], rows, drawn[0][0])
            next_at_goal = self._label(next_states, goals[0], rows + 1, drawn[0][0])
        batch = Batch(
            states=states,
            actions=self.trajectories.actions.take(rows, 0),
            next_states=next_states,
            value_goals=goals[0],
            actor_goals=goals[-1],
            at_goal=at_goal,
            next_at_goal=next_at_goal,
        )
        if self.window is not None:
            self.window.advance(batch_size)
        return batch

    def _label(
        self, states: Floats, goals: Goals, rows: Rows, goal_rows: Rows
    ) -> NDArray[np.bool_]:
        return self.labels.at_goal(
            Candidates(states, goals.references, goals.masks, rows, goal_rows)
        )
