"""Direct goals: goals that are not reached yet, but will be reached soon.

Many goals that a mixture draws do not help an actor. If a transition is already at its goal, its
action says nothing about how to reach the goal. If the goal is reached much later, the action may
have served another purpose. A direct goal is not reached yet, and is reached within a *window* of
steps. Reference and query are drawn again until the goal is direct. With a *linger*, goals are also
used for some steps after the arrival, so that an actor learns what the data does then, such as
releasing an object. Goals about objects may have to be *settled*: an object must have stayed there,
because a place that it only passed was perhaps not intended. Questions of which only the place of
the robot's hand is left may have a shorter window: a hand reaches any place quickly, so its earlier
actions served something else.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from goalsets.core.objects import beside_places
from goalsets.relabel.arrivals import Arrivals
from goalsets.relabel.goals import Generators, GoalMixture, Rows, StateSource
from goalsets.relabel.queries import QueryDistribution
from goalsets.relabel.units import Flags

ROUNDS = 8
"""How often reference and query are drawn again."""

ANSWERED = "relabel/answered"
"""The share of first draws whose goal is reached already."""
FAR = "relabel/far"
"""The share of first draws whose goal is not reached within the window."""
UNDIRECTED = "relabel/undirected"
"""The share of goals that are not direct after all draws."""


@dataclass(frozen=True)
class Drawn:
    """Goals of some transitions."""

    rows: Rows
    """`[B]`, the rows of the references."""
    steps: Rows
    """`[B]`, the steps to the references, as `GoalMixture.sample` returns them."""
    masks: Flags
    """`bool[B, D]`, the queries."""

    def copy(self) -> Drawn:
        """A copy that can be changed."""
        return Drawn(np.array(self.rows), np.array(self.steps), np.array(self.masks))

    def put(self, places: Rows, others: Drawn, chosen: Flags) -> None:
        """Replace the goals at `places` by the chosen ones of `others`."""
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
            mixture: A mixture with a window and a horizon.
            rows: `[B]`, the rows at which the transitions start.
            ends: `[B]`, the last rows of their episodes.
            first: The goals that were drawn.
            rng: The generators; how many numbers are drawn depends on the data.

        Returns:
            The goals, and statistics of them for logs.
        """
        first = self._sooner(mixture, rows, first)
        late = self._late(rows, first)
        direct = self._is_direct(rows, late, first, mixture)
        found, rejected = first.copy(), np.flatnonzero(~direct)
        for _ in range(ROUNDS):
            if len(rejected) == 0:
                break
            others = self._draw(mixture, rows[rejected], ends[rejected], rng)
            left = rows[rejected]
            accepted = self._is_direct(left, self._late(left, others), others, mixture)
            found.put(rejected, others, accepted)
            rejected = rejected[~accepted]
        if len(rejected) and self._groups.any():
            rejected = self._one_group(mixture, rows, ends, found, rejected, rng)
        return found, {
            ANSWERED: float((late <= 0).mean()),
            FAR: float((late > self._windows(rows, first, mixture)).mean()),
            UNDIRECTED: len(rejected) / len(rows),
        }

    def _draw(self, mixture: GoalMixture, rows: Rows, ends: Rows, rng: Generators) -> Drawn:
        goals, steps = mixture.sample(rows, ends, self.source, rng.goals)
        layout = self.arrivals.rule.layout
        drawn = Drawn(goals, steps, self.queries.sample(layout, len(rows), rng.queries))
        return self._sooner(mixture, rows, drawn)

    def _sooner(self, mixture: GoalMixture, rows: Rows, drawn: Drawn) -> Drawn:
        """Bring the references of questions about the robot's place into their window.

        They were drawn for the window of all questions. To draw again until one is near enough
        would make such questions rarer than the distribution says.
        """
        if mixture.robot_window is None:
            return drawn
        share = mixture.robot_window / _window(mixture)
        ahead = (drawn.steps > 0) & self._is_quick(rows, drawn)
        steps = np.where(ahead, np.ceil(drawn.steps * share).astype(np.int64), drawn.steps)
        return Drawn(np.where(ahead, rows + steps, drawn.rows), steps, drawn.masks)

    def _is_direct(self, rows: Rows, late: Rows, drawn: Drawn, mixture: GoalMixture) -> Flags:
        """Whether goals are arrived at within their windows, and not yet; and have settled."""
        soon = (late > -mixture.linger) & (late <= self._windows(rows, drawn, mixture))
        return soon & self._has_settled(drawn, mixture)

    def _windows(self, rows: Rows, drawn: Drawn, mixture: GoalMixture) -> Rows | int:
        """The steps within which each question must be answered."""
        if mixture.robot_window is None:
            return _window(mixture)
        return np.where(self._is_quick(rows, drawn), mixture.robot_window, _window(mixture))

    def _is_quick(self, rows: Rows, drawn: Drawn) -> Flags:
        """Whether only the robot's place is left of questions: the rest has held since the rows.

        A gripper that must close on an object first needs a whole motion, so such a question has
        the window of all questions until the gripper is closed.
        """
        rest = drawn.masks & ~self._of_places
        quick: Flags = ~self._asks_for_objects(drawn.masks)
        open_still = np.flatnonzero(quick & np.any(rest, axis=-1))
        if len(open_still):
            arrived = self.arrivals.arrival(drawn.rows[open_still], rest[open_still])
            quick[open_still] = arrived <= rows[open_still]
        return quick

    def _late(self, rows: Rows, drawn: Drawn) -> Rows:
        """Steps to the arrivals: 0 or less if reached already, very many on other trajectories."""
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
        """Replace goals by a direct goal of one group; return the places where there is none."""
        future = dataclasses.replace(mixture, p_current=0.0, p_future=1.0, p_random=0.0)
        rows, ends = rows[rejected], ends[rejected]
        goals, steps = future.sample(rows, ends, self.source, rng.goals)
        held = self.arrivals.groups.take(goals, 0)
        late = goals[:, None] - held - rows[:, None]
        robots = mixture.robot_window or _window(mixture)
        window = np.where(self._about_places, robots, _window(mixture))
        direct = (late > -mixture.linger) & (late <= window) & self._groups
        direct &= (held >= mixture.settled) | ~self._about_objects
        # The largest of random numbers chooses each direct group with equal probability.
        chosen = np.where(direct, rng.queries.random(direct.shape), -1.0).argmax(-1)
        some: Flags = np.any(direct, axis=-1)
        found.put(rejected, Drawn(goals, steps, self.arrivals.rule.masks[chosen]), some)
        return rejected[~some]

    def _has_settled(self, drawn: Drawn, mixture: GoalMixture) -> Flags:
        """Whether goals about objects have held for at least `settled` steps at the reference."""
        if mixture.settled == 0:
            return np.ones(len(drawn.rows), np.bool_)
        held = drawn.rows - self.arrivals.arrival(drawn.rows, drawn.masks)
        return ~self._asks_for_objects(drawn.masks) | (held >= mixture.settled)

    def _asks_for_objects(self, masks: Flags) -> Flags:
        """Whether queries `[B, D]` ask for an object, and not for the robot alone: `[B]`."""
        found: Flags = np.any(masks & self._of_objects, axis=-1)
        return found

    @functools.cached_property
    def _of_places(self) -> Flags:
        """`bool[D]`: which coordinates are places of the robot."""
        found: Flags = np.any(self.arrivals.rule.masks[self._about_places], axis=0)
        return found

    @functools.cached_property
    def _about_places(self) -> Flags:
        """`bool[G]`: which groups are places of the robot: objects are relative to them."""
        layout = self.arrivals.rule.layout
        others = {group.name for group in beside_places(layout)}
        return np.array([not group.kind and group.name not in others for group in layout.groups])

    @functools.cached_property
    def _of_objects(self) -> Flags:
        """`bool[D]`: which coordinates belong to objects."""
        found: Flags = np.any(self.arrivals.rule.masks[self._about_objects], axis=0)
        return found

    @functools.cached_property
    def _about_objects(self) -> Flags:
        """`bool[G]`: which groups describe objects, not the robot."""
        return np.array([bool(group.kind) for group in self.arrivals.rule.layout.groups])

    @functools.cached_property
    def _groups(self) -> Flags:
        """`bool[G]`: which groups may be a query by themselves.

        These are the groups that the query distribution can draw. If the distribution always draws
        the same query, there are none, because its networks must not see another query.
        """
        share = self.queries.marginals(self.arrivals.rule.layout)
        if np.isin(share, (0.0, 1.0)).all():
            return np.zeros(len(self.arrivals.rule.groups), np.bool_)
        return self.arrivals.rule.divide(share[None] > 0)[0][0]


def _window(mixture: GoalMixture) -> int:
    assert mixture.window is not None
    return mixture.window
