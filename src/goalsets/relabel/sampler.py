"""The sampler: data, goals, queries and labels become batches for a learner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.relabel.batch import Batch, BatchSpec, Goals
from goalsets.relabel.goals import Rows
from goalsets.relabel.labels import Candidates, Floats, Labels, PredicateLabels
from goalsets.relabel.queries import QueryDistribution

Arrays = NDArray[Any]


class RowSource(Protocol):
    """Standardised data that batches are drawn from: a `goalsets.data.drawing.DataSource`.

    Standardised `goalsets.data.trajectories.Trajectories` are one, too.
    """

    def draw_transitions(self, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw transitions: their rows, and the last row of each one's episode."""
        ...

    def draw_states(self, count: int, rng: np.random.Generator) -> Rows:
        """Draw states: their rows."""
        ...

    def states(self, rows: Rows) -> Floats:
        """The states `[B, D]` at rows."""
        ...

    def taken_actions(self, rows: Rows) -> Floats:
        """The actions `[B, A]` that were taken at rows."""
        ...

    def advance(self, count: int) -> None:
        """Hear that a batch of `count` transitions was drawn."""
        ...

    def seek(self, drawn: int) -> None:
        """Go to where a source is that has drawn so many transitions: a resumed run does."""
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
class Sampler:
    """Draws relabeled batches.

    Attributes:
        source: The data, standardised.
        layout: The layout of its states.
        queries: Which variables matter.
        spec: What the learner wants.
        horizon: H_max, for mixtures of goals that have no horizon of their own.
        labels: What counts as being at a goal.
    """

    source: RowSource
    layout: StateLayout
    queries: QueryDistribution
    spec: BatchSpec
    horizon: int = 200
    labels: Labels = field(default_factory=PredicateLabels)

    def sample(self, batch_size: int, rng: Generators) -> Batch[Arrays]:
        """Draw a batch."""
        source, spec = self.source, self.spec
        rows, ends = source.draw_transitions(batch_size, rng.goals)
        drawn = [
            mixture.within(self.horizon).sample(rows, ends, source, rng.goals)
            for mixture in spec.goals.values()
        ]
        # One draw for all: a distribution's fixed costs are paid once.
        masks = self.queries.sample(self.layout, len(drawn) * batch_size, rng.queries)
        states, next_states = source.states(rows), source.states(rows + 1)
        goals: dict[str, Goals[Arrays]] = {}
        for (name, mixture), (goal_rows, steps), own in zip(
            spec.goals.items(), drawn, np.split(masks, len(drawn)), strict=True
        ):
            references = source.states(goal_rows)
            labels = None
            if mixture.labels:
                labels = (
                    self._label(Candidates(states, references, own, rows, goal_rows)),
                    self._label(Candidates(next_states, references, own, rows + 1, goal_rows)),
                )
            goals[name] = Goals(references, own, steps, labels)
        actions, taken = self._actions(rows, ends)
        later = {k: source.states(np.minimum(rows + k, ends)) for k in spec.later}
        source.advance(batch_size)
        return Batch(states, actions, next_states, goals, later, taken)

    def _label(self, candidates: Candidates) -> NDArray[np.bool_]:
        return self.labels.at_goal(candidates)

    def _actions(self, rows: Rows, ends: Rows) -> tuple[Floats, NDArray[np.bool_] | None]:
        """The actions of transitions; of several, those after an episode's end are not taken."""
        if self.spec.actions == 1:
            return self.source.taken_actions(rows), None
        places = rows[:, None] + np.arange(self.spec.actions)
        taken = places < ends[:, None]
        # What is not taken repeats the last action that was: it is there to be ignored.
        actions = [
            self.source.taken_actions(np.minimum(rows + k, ends - 1))
            for k in range(self.spec.actions)
        ]
        return np.stack(actions, axis=1), taken
