"""Can it be asked? How much of the training data answers a question, and how the data got there.

For each of some goals: the states that lie in the goal set, the episodes that pass through it, and
the different situations that these episodes started from. A *visit* is a stretch of an episode
inside the set; who leaves by less than a tolerance and comes back makes one visit. Its *approach*
is the way to it from the last moment at which the state was as far from the set as it ever was in
the window before; it is *direct* if it never turns back by more than a tolerance on the way.

*Reach* says whether the data has done the like of what will be asked: from any state, to any goal.
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
"""Nearest answers that are told where there are none."""
_VISITS = 20
"""Visits of a goal whose approach is looked at."""
_AWAY = 2.0
"""Tolerances that a state is away from a goal, at least, before a visit."""
_STARTS = 2_000
"""Different starts that are told apart."""


@dataclass(frozen=True)
class Near:
    """A training state that is near a goal that no state answers."""

    episode: int
    step: int
    tolerances: float
    """How many tolerances the worst term is away; infinite where a term has no slack."""
    terms: dict[str, str]
    """How far each term is, for people."""


@dataclass(frozen=True)
class Reach:
    """Whether the data has done the like of what will be asked."""

    share: float
    """Of situations to be asked that are no further from something that the data did than held-out
    data usually is, and not blocked."""
    blocked: float
    """The share of situations in which a switch has a value at which the data never does this."""
    by: tuple[str, ...]
    """The groups of these switches."""

    @classmethod
    def of(cls, usual: Floats, asked: Floats, locked: Flags, by: tuple[str, ...]) -> Reach | None:
        """Compare distances to the nearest thing that the training data did.

        Args:
            usual: Of held-out rows, where the data then went for the goal.
            asked: Of held-out states with goals of other episodes, as people ask.
            locked: Which of these are blocked.
            by: By which groups.
        """
        if not len(usual) or not len(asked):
            return None
        near = asked <= np.quantile(usual, 0.9)
        return cls(float((near & ~locked).mean()), float(locked.mean()), by)


@dataclass(frozen=True)
class Support:
    """What the training data knows of a question; counts are medians over goals."""

    goals: int
    """Goals that were looked at."""
    answered: float
    """The share of them that some training state answers."""
    states: float
    all_states: int
    episodes: float
    all_episodes: int
    starts: float
    """Different situations that the answering episodes started from."""
    visits: float
    direct: float | None
    """The share of visits with a direct approach; None where there are no visits."""
    steps: tuple[float, float, float] | None
    """Steps of direct approaches: a tenth, half and nine tenths take no longer. None where there
    are none, and for questions about switches alone, which change in one step."""
    parts: float
    """The share of goals of which every object's part is answered, if not at once."""
    reach: Reach | None
    """None where nothing could be compared."""
    nearest: tuple[Near, ...]
    """Nearest answers to the first goal that no state answers."""
    unanswered: int | None
    """Which goal that is."""


class Supporter:
    """Looks at what training data knows of questions.

    Args:
        data: Training episodes, in memory.
        every: Which they are of all: each one of so many.
        rule: Tells starts apart.
        window: Steps before a visit that belong to its approach, at most.
    """

    def __init__(self, data: Trajectories, every: int, rule: Rule, window: int) -> None:
        """Tell apart where episodes start."""
        self._data, self._every = data, every
        self._window = window
        self._start_of = _kinds(data.states(data.offsets[:-1]), rule)
        lengths = np.diff(data.offsets)
        self._episode_of = np.repeat(np.arange(data.num_episodes), lengths)

    def look(self, question: Question, goals: Floats, reach: Reach | None) -> Support:
        """Count what answers a question.

        Args:
            question: The question.
            goals: `[N, D]`, references to ask it with.
            reach: What was found about it.
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
        # An episode that starts inside shows no way to get there.
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
        """Whether the training data answers a goal for each object apart."""
        parts = question.parts()
        return len(parts) > 1 and all(
            bool(np.any(GoalSet(goal, part).contains(self._data.observations))) for part in parts
        )

    def _approach(self, goals: GoalSet, inside: Flags, entry: int) -> tuple[int, bool] | None:
        """Steps of the way to a visit, and whether it was direct; None where it is none."""
        first = max(int(self._data.offsets[self._episode_of[entry]]), entry - self._window)
        before = np.flatnonzero(inside[first:entry])
        first += int(before[-1]) + 1 if len(before) else 0
        # Two wrong switches are as far as one; a jump has no way to it.
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
        # Of states side by side, one is enough: the nearest of each episode.
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
    """Number the states so that those that are alike in every group have one number."""
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
