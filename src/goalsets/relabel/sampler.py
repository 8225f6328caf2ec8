"""The sampler: makes batches for a learner from data, goals, queries and labels."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.relabel.arrivals import Arrivals
from goalsets.relabel.batch import Batch, BatchSpec, Goals
from goalsets.relabel.direct import DirectGoals, Drawn
from goalsets.relabel.goals import Generators, Rows
from goalsets.relabel.labels import Candidates, Floats, Labels, PredicateLabels
from goalsets.relabel.queries import QueryDistribution

Arrays = NDArray[Any]


class RowSource(Protocol):
    """A source of standardised data, such as `goalsets.data.drawing.DataSource`.

    Standardised `goalsets.data.trajectories.Trajectories` are another.
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
        """Count a batch of `count` drawn transitions."""
        ...

    def seek(self, drawn: int) -> None:
        """Go to the position after `drawn` transitions, as a resumed run must."""
        ...


@dataclass(frozen=True)
class Sampler:
    """Draws relabeled batches.

    Attributes:
        source: The data, standardised.
        layout: The layout of its states.
        queries: The query distribution.
        spec: The form of the learner's batches.
        horizon: H_max, for mixtures of goals without a horizon of their own.
        labels: The rule that decides which states are at their goals.
        arrivals: The arrivals of the data, by the rows of the source. With them, steps to goals on
            the same trajectory are counted to the arrival, and goals may be direct.
        steps_to_arrival: False counts steps to the reference even with arrivals; labels by
            identity need this.
    """

    source: RowSource
    layout: StateLayout
    queries: QueryDistribution
    spec: BatchSpec
    horizon: int = 200
    labels: Labels = field(default_factory=PredicateLabels)
    arrivals: Arrivals | None = None
    steps_to_arrival: bool = True

    def __post_init__(self) -> None:
        """Check that direct goals have arrivals."""
        windowed = [name for name, mixture in self.spec.goals.items() if mixture.window is not None]
        if windowed and self.arrivals is None:
            raise GoalsetsError(
                f"the goals {windowed[0]!r} have a window, which needs arrivals: give the sampler "
                "arrivals (goalsets.relabel.arrivals)."
            )

    def sample(self, batch_size: int, rng: Generators) -> Batch[Arrays]:
        """Draw a batch."""
        source, spec = self.source, self.spec
        rows, ends = source.draw_transitions(batch_size, rng.goals)
        drawn = [
            mixture.within(self.horizon).sample(rows, ends, source, rng.goals)
            for mixture in spec.goals.values()
        ]
        # One call for all goals is faster than one call for each.
        masks = self.queries.sample(self.layout, len(drawn) * batch_size, rng.queries)
        states, next_states = source.states(rows), source.states(rows + 1)
        goals: dict[str, Goals[Arrays]] = {}
        facts: dict[str, list[float]] = {}
        for (name, mixture), goal, asked in zip(
            spec.goals.items(), drawn, np.split(masks, len(drawn)), strict=True
        ):
            own = Drawn(*goal, asked)
            if mixture.window is not None:
                own, told = self._direct.choose(mixture.within(self.horizon), rows, ends, own, rng)
                for fact, value in told.items():
                    facts.setdefault(fact, []).append(value)
            references = source.states(own.rows)
            labels = None
            if mixture.labels:
                labels = (
                    self._label(Candidates(states, references, own.masks, rows, own.rows)),
                    self._label(Candidates(next_states, references, own.masks, rows + 1, own.rows)),
                )
            goals[name] = Goals(references, own.masks, self._steps(rows, own), labels)
        actions, taken = self._actions(rows, ends)
        later = {k: source.states(np.minimum(rows + k, ends)) for k in spec.later}
        source.advance(batch_size)
        means = {fact: sum(values) / len(values) for fact, values in facts.items()}
        return Batch(states, actions, next_states, goals, later, taken, means)

    @functools.cached_property
    def _direct(self) -> DirectGoals:
        assert self.arrivals is not None
        return DirectGoals(self.arrivals, self.queries, self.source)

    def _steps(self, rows: Rows, drawn: Drawn) -> Rows:
        """Steps to the goals; with arrivals, steps to the arrivals."""
        if self.arrivals is None or not self.steps_to_arrival:
            return drawn.steps
        late = np.maximum(self.arrivals.arrival(drawn.rows, drawn.masks) - rows, 0)
        return np.where(drawn.steps >= 0, late, drawn.steps)

    def _label(self, candidates: Candidates) -> NDArray[np.bool_]:
        return self.labels.at_goal(candidates)

    def _actions(self, rows: Rows, ends: Rows) -> tuple[Floats, NDArray[np.bool_] | None]:
        """The actions of transitions; for several actions, also which are within the episode."""
        if self.spec.actions == 1:
            return self.source.taken_actions(rows), None
        places = rows[:, None] + np.arange(self.spec.actions)
        taken = places < ends[:, None]
        # After the end of an episode, the last action is repeated; learners ignore it by `taken`.
        actions = [
            self.source.taken_actions(np.minimum(rows + k, ends - 1))
            for k in range(self.spec.actions)
        ]
        return np.stack(actions, axis=1), taken
