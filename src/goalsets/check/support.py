"""Does the training data support a question? Count the data that answers it, and how it got there.

For each of some goals we count the states in the goal set, the episodes that pass through it, and
the different states in which these episodes started. A *visit* is a stretch of an episode inside
the set. Leaving by less than a tolerance and coming back does not end a visit. The *approach* of a
visit starts at the last moment at which the state was furthest from the set, within a window before
the visit. It is *direct* if it never turns back by more than a tolerance.

*Reach* says whether the data did something similar to what will be asked: to go from any state to
any goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.core import GoalSet, Query
from goalsets.core.margins import margin
from goalsets.data.trajectories import Trajectories
from goalsets.relabel.units import Rule

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]

_NEAREST = 3
"""Nearest states to list if no state answers."""
_VISITS = 20
"""Visits of a goal to examine."""
_AWAY = 2.0
"""How far, in tolerances, an approach must begin from the goal."""
_STARTS = 2_000
"""Different starts to distinguish, at most."""


@dataclass(frozen=True)
class Near:
    """A training state near a goal that no training state answers."""

    episode: int
    step: int
    tolerances: float
    """Distance of the worst term, in tolerances; infinite if its tolerance is 0."""
    terms: dict[str, str]
    """The distance of each term, in words."""


@dataclass(frozen=True)
class Reach:
    """Whether the data did something similar to what will be asked."""

    share: float
    """The share of situations that are not blocked, and as close to a recorded situation as
    held-out data usually is."""
    blocked: float
    """The share of blocked situations: a switch has a value at which the data never does this."""
    by: tuple[str, ...]
    """The groups of these switches."""

    @classmethod
    def of(cls, usual: Floats, asked: Floats, locked: Flags, by: tuple[str, ...]) -> Reach | None:
        """Compare distances to the nearest situation in the training data.

        Args:
            usual: Distances of held-out rows with goals that the data then reached.
            asked: Distances of held-out states with goals of other episodes, as people ask.
            locked: Which of the latter are blocked.
            by: The groups that block them.
        """
        if not len(usual) or not len(asked):
            return None
        near = asked <= np.quantile(usual, 0.9)
        return cls(float((near & ~locked).mean()), float(locked.mean()), by)


@dataclass(frozen=True)
class Support:
    """How far the training data supports a question; counts are medians over goals."""

    goals: int
    """How many goals were examined."""
    answered: float
    """The share of them that some training state answers."""
    states: float
    all_states: int
    episodes: float
    all_episodes: int
    starts: float
    """Different starts of the answering episodes."""
    visits: float
    direct: float | None
    """The share of visits with a direct approach; None if there are no visits."""
    steps: tuple[float, float, float] | None
    """Steps of direct approaches: the 10th, 50th and 90th percentile. None if there are none, and
    for questions about switches only, which change in one step."""
    parts: float
    """The share of goals for which each object's part is answered, perhaps by different states."""
    reach: Reach | None
    """None if nothing could be compared."""
    nearest: tuple[Near, ...]
    """Nearest answers to the first goal that no state answers."""
    unanswered: int | None
    """The index of that goal."""


class Supporter:
    """Measures how far training data supports questions.

    Args:
        data: Training episodes, in memory.
        every: `data` holds one in `every` training episodes.
        rule: Decides whether two starts are alike.
        window: The longest approach, in steps before a visit.
    """

    def __init__(self, data: Trajectories, every: int, rule: Rule, window: int) -> None:
        """Number the different starts of episodes."""
        self._data, self._every = data, every
        self._window = window
        self._start_of = _kinds(data.states(data.offsets[:-1]), rule)
        lengths = np.diff(data.offsets)
        self._episode_of = np.repeat(np.arange(data.num_episodes), lengths)

    def look(self, question: Question, goals: Floats, reach: Reach | None) -> Support:
        """Count the training data that answers a question.

        Args:
            question: The question.
            goals: `[N, D]`, the references.
            reach: The reach of the question, which is only passed on.
        """
        seen = [self._one(question, goal) for goal in goals]
        counts = np.array([one[:4] for one in seen], float).reshape(-1, 4)
        states, episodes, starts, visits = np.median(counts, 0) if len(counts) else np.zeros(4)
        approaches = [each for one in seen for each in one[4]]
        took = [steps for steps, direct in approaches if direct]
        empty = np.flatnonzero(counts[:, 0] == 0)
        apart = [
            bool(count) or self._in_parts(question, g)
            for count, g in zip(counts[:, 0], goals, strict=True)
        ]
        switch = all(term.tolerance == 0 for term in question.query.terms)
        return Support(
            goals=len(goals),
            answered=float((counts[:, 0] > 0).mean()) if len(counts) else 0.0,
            states=float(states),
            all_states=self._data.num_states,
            episodes=float(episodes),
            all_episodes=self._data.num_episodes,
            starts=float(starts),
            visits=float(visits),
            direct=len(took) / len(approaches) if approaches else None,
            steps=_quantiles(took) if took and not switch else None,
            parts=float(np.mean(apart)) if apart else 0.0,
            reach=reach,
            nearest=self._nearest(question, goals[empty[0]]) if len(empty) else (),
            unanswered=int(empty[0]) if len(empty) else None,
        )

    def _one(
        self, question: Question, goal: Floats
    ) -> tuple[int, int, int, int, list[tuple[int, bool]]]:
        """States, episodes, starts and visits of one goal; steps and directness of approaches."""
        goals = question.goal_set(goal)
        inside: Flags = goals.contains(self._data.observations)
        rows = np.flatnonzero(inside)
        episodes = np.unique(self._episode_of[rows])
        begins = self._data.offsets[:-1]
        # An episode that starts inside the set shows no way to get there.
        came = episodes[~inside[begins[episodes]]]
        entered = rows[rows > begins[self._episode_of[rows]]]
        entered = entered[~inside[entered - 1]]
        spread = entered[:: max(1, len(entered) // _VISITS)][:_VISITS]
        found = [self._approach(goals, inside, int(row)) for row in spread]
        approaches = [each for each in found if each is not None]
        visits = round(len(entered) * len(approaches) / max(1, len(spread)))
        starts = len(np.unique(self._start_of[came]))
        return len(rows), len(episodes), starts, visits, approaches

    def _in_parts(self, question: Question, goal: Floats) -> bool:
        """Whether the training data answers the goal of each object separately."""
        parts = question.parts()
        return len(parts) > 1 and all(
            bool(np.any(GoalSet(goal, part).contains(self._data.observations))) for part in parts
        )

    def _approach(self, goals: GoalSet, inside: Flags, entry: int) -> tuple[int, bool] | None:
        """Steps of the approach to a visit, and whether it was direct; None if there is none."""
        first = max(int(self._data.offsets[self._episode_of[entry]]), entry - self._window)
        before = np.flatnonzero(inside[first:entry])
        first += int(before[-1]) + 1 if len(before) else 0
        # Wrong switches are infinitely far: cap that, so that one and two of them are equal.
        apart = np.minimum(margin(goals, self._data.observations[first:entry]), 1e6)
        if apart.max() < _AWAY:
            return None
        start = int(np.flatnonzero(apart >= apart.max() - 1.0)[-1])
        way = apart[start:]
        turned = way - np.minimum.accumulate(way)
        return entry - first - start, bool((turned <= 1.0).all())

    def _nearest(self, question: Question, goal: Floats) -> tuple[Near, ...]:
        goals = question.goal_set(goal)
        apart = margin(goals, self._data.observations)
        # Successive states are alike, so take the nearest of each episode.
        order = np.argsort(apart, kind="stable")
        _, first = np.unique(self._episode_of[order], return_index=True)
        rows = order[np.sort(first)[:_NEAREST]]
        found: list[Near] = []
        for row in rows:
            terms = {}
            for term, stands in zip(
                question.query.terms, goals.violations(self._data.observations[row]), strict=True
            ):
                away = float(stands.distance)
                said = "" if term.group.metric == "exact" else term.group.say(away)
                terms[term.name] = said or (f"{away:.3g}" if term.tolerance else "another value")
                if bool(stands.satisfied):
                    terms[term.name] = "holds"
            episode = int(self._episode_of[row])
            step = int(row - self._data.offsets[episode])
            found.append(Near(episode * self._every, step, float(apart[row]), terms))
        return tuple(found)


def _kinds(states: Floats, rule: Rule) -> Rows:
    """Number the states so that states that are alike in every group share a number."""
    everything = Query.all(rule.layout).mask
    kinds = np.full(len(states), -1)
    leaders: list[int] = []
    for row, state in enumerate(states):
        if kinds[row] >= 0:
            continue
        if len(leaders) >= _STARTS:
            break
        rest = np.flatnonzero(kinds < 0)
        same = np.broadcast_to(state, (len(rest), len(state)))
        masks = np.broadcast_to(everything, same.shape)
        alike = rule.holds(np.asarray(states[rest]), same, masks)
        kinds[rest[alike]] = len(leaders)
        kinds[row] = len(leaders)
        leaders.append(row)
    return kinds


def _quantiles(values: Sequence[float]) -> tuple[float, float, float]:
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
    return float(low), float(middle), float(high)
