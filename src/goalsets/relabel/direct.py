"""Direct goals: questions that are open where they are asked, and soon answered.

Of the goals that a mixture draws, many are no use to an actor: the question was answered already
where it is asked, so that what was done then says nothing; or its answer came so much later that
what was done then may have been for something else. A direct goal is arrived at within a window,
and not yet. Reference and query are drawn together until they make one. With a *linger*, a question
is also asked for so many steps after its answer: what the data did then, such as letting go. Goals
about objects may have to be *settled*: what an object only passed by was perhaps nobody's aim.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from goalsets.relabel.arrivals import Arrivals
from goalsets.relabel.goals import Generators, GoalMixture, Rows, StateSource
from goalsets.relabel.queries import QueryDistribution
from goalsets.relabel.units import Flags

ROUNDS = 8
"""How often reference and query are drawn again."""

ANSWERED = "relabel/answered"
"""The share of first draws whose question was answered already."""
FAR = "relabel/far"
"""The share of first draws that are not answered yet, and not within the window either."""
UNDIRECTED = "relabel/undirected"
"""The share of goals that are not direct in the end."""


@dataclass(frozen=True)
class Drawn:
    """Goals of some transitions."""

    rows: Rows
    """`[B]`, where the references lie."""
    steps: Rows
    """`[B]`, as `GoalMixture.sample` counts them."""
    masks: Flags
    """`bool[B, D]`, the queries."""

    def copy(self) -> Drawn:
        """The same, to be changed."""
        return Drawn(np.array(self.rows), np.array(self.steps), np.array(self.masks))

    def put(self, places: Rows, others: Drawn, chosen: Flags) -> None:
        """Replace the goals at places by the chosen ones of others."""
        there = places[chosen]
        self.rows[there] = others.rows[chosen]
        self.steps[there] = others.steps[chosen]
        self.masks[there] = others.masks[chosen]


@dataclass(frozen=True, eq=False)
class DirectGoals:
    """Replaces goals that are not direct."""

    arrivals: Arrivals
    queries: QueryDistribution
    source: StateSource

    def choose(
        self, mixture: GoalMixture, rows: Rows, ends: Rows, first: Drawn, rng: Generators
    ) -> tuple[Drawn, Mapping[str, float]]:
        """Keep the direct goals among those that were drawn, and draw others for the rest.

        Args:
            mixture: Has a window and a horizon.
            rows: `[B]`, where the transitions start.
            ends: `[B]`, the last rows of their episodes.
            first: What was drawn.
            rng: Draws; how much depends on the data.

        Returns:
            The goals, and what there is to tell of them.
        """
        late = self._late(rows, first)
        direct = _is_direct(late, mixture) & self._has_settled(first, mixture)
        found, rejected = first.copy(), np.flatnonzero(~direct)
        for _ in range(ROUNDS):
            if len(rejected) == 0:
                break
            others = self._draw(mixture, rows[rejected], ends[rejected], rng)
            accepted = _is_direct(self._late(rows[rejected], others), mixture)
            accepted &= self._has_settled(others, mixture)
            found.put(rejected, others, accepted)
            rejected = rejected[~accepted]
        if len(rejected) and self._groups.any():
            rejected = self._one_group(mixture, rows, ends, found, rejected, rng)
        return found, {
            ANSWERED: float((late <= 0).mean()),
            FAR: float((late > _window(mixture)).mean()),
            UNDIRECTED: len(rejected) / len(rows),
        }

    def _draw(self, mixture: GoalMixture, rows: Rows, ends: Rows, rng: Generators) -> Drawn:
        goals, steps = mixture.sample(rows, ends, self.source, rng.goals)
        layout = self.arrivals.rule.layout
        return Drawn(goals, steps, self.queries.sample(layout, len(rows), rng.queries))

    def _late(self, rows: Rows, drawn: Drawn) -> Rows:
        """Steps to the arrivals, 0 or less for what is answered; very many if it is elsewhere."""
        late = self.arrivals.arrival(drawn.rows, drawn.masks) - rows
        return np.where(drawn.steps >= 0, late, np.iinfo(np.int64).max)

    def _one_group(
        self,
        mixture: GoalMixture,
        rows: Rows,
        ends: Rows,
        found: Drawn,
        rejected: Rows,
        rng: Generators,
    ) -> Rows:
        """Ask for one group that moves, where some do; return the places where none does."""
        future = dataclasses.replace(mixture, p_current=0.0, p_future=1.0, p_random=0.0)
        rows, ends = rows[rejected], ends[rejected]
        goals, steps = future.sample(rows, ends, self.source, rng.goals)
        held = self.arrivals.groups.take(goals, 0)
        late = goals[:, None] - held - rows[:, None]
        direct = _is_direct(late, mixture) & self._groups
        direct &= (held >= mixture.settled) | ~self._about_objects
        # The largest of random numbers is at each of the direct ones equally often.
        chosen = np.where(direct, rng.queries.random(direct.shape), -1.0).argmax(-1)
        some: Flags = np.any(direct, axis=-1)
        found.put(rejected, Drawn(goals, steps, self.arrivals.rule.masks[chosen]), some)
        return rejected[~some]

    def _has_settled(self, drawn: Drawn, mixture: GoalMixture) -> Flags:
        """Whether goals about objects had held for long enough when they were drawn."""
        if mixture.settled == 0:
            return np.ones(len(drawn.rows), np.bool_)
        about = (drawn.masks & self.arrivals.rule.masks[self._about_objects].any(0)).any(-1)
        held = drawn.rows - self.arrivals.arrival(drawn.rows, drawn.masks)
        return ~about | (held >= mixture.settled)

    @functools.cached_property
    def _about_objects(self) -> Flags:
        """`bool[G]`: which groups are about objects, and not about the robot itself."""
        return np.array([bool(group.kind) for group in self.arrivals.rule.layout.groups])

    @functools.cached_property
    def _groups(self) -> Flags:
        """`bool[G]`: which groups may be asked for alone.

        Those that the distribution knows. One that always asks the same is left alone: who trains
        with it does not show its networks another question.
        """
        share = self.queries.marginals(self.arrivals.rule.layout)
        if np.isin(share, (0.0, 1.0)).all():
            return np.zeros(len(self.arrivals.rule.groups), np.bool_)
        return self.arrivals.rule.divide(share[None] > 0)[0][0]


def _is_direct(late: Rows, mixture: GoalMixture) -> Flags:
    """Whether steps to arrivals are those of direct goals."""
    return (late > -mixture.linger) & (late <= _window(mixture))


def _window(mixture: GoalMixture) -> int:
    assert mixture.window is not None
    return mixture.window
