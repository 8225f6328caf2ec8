"""A policy that is asked chains of questions.

`PlanningPolicy` is a `Policy` like any other. Whoever asks it for a goal set gets the action of the
policy inside it, which is asked for the step of the plan that is due.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from goalsets.core import GoalSet, GoalsetsError, Query, StateLayout
from goalsets.core.acting import STEPS, Memory, Policy
from goalsets.core.inputs import InputReader, QueryLike
from goalsets.plan.follow import Follower, Following
from goalsets.plan.found import Distance
from goalsets.plan.parts import Flags, Floats
from goalsets.plan.planner import Planner, check_layout

Prices = Literal["data", "policy"]
"""What moves are priced by: the steps that they took in the data, or those a policy predicts."""


def distance_of(policy: Policy) -> Distance:
    """The steps that a policy predicts; an error for one that predicts none."""
    if policy.distance_unit != STEPS:
        told = policy.distance_unit or "nothing"
        raise GoalsetsError(
            f"prices by the policy need one that predicts steps; the distance of this one counts "
            f"{told}. Take prices by the data, or train gcivl, gciql, gcdl or qrl."
        )
    return policy.distance


class PlanningPolicy:
    """A policy that is asked chains of questions, as a `goalsets.core.acting.Policy`.

    Args:
        policy: Answers single questions.
        planner: Makes chains of them.
        prices: What a move costs: what it took in the data, or what the policy's own distance says.
    """

    def __init__(self, policy: Policy, planner: Planner, prices: Prices = "data") -> None:
        """Check that the two fit."""
        check_layout(planner, policy.layout)
        self.policy = policy
        self.planner = planner
        distance = distance_of(policy) if prices == "policy" else None
        self._follower = Follower(planner, distance)
        self._reader = InputReader(policy.layout)

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        return self.policy.layout

    @property
    def answers(self) -> str:
        """What it answers, for people."""
        return f"{self.policy.answers}, by a chain of questions"

    @property
    def distance_unit(self) -> str | None:
        """What its distance counts; None if it learns none."""
        return self.policy.distance_unit

    def hears(self, query: QueryLike) -> Flags:
        """Which coordinates of a goal it is shown when it is asked this: `[D]` or `[B, D]`."""
        return self.policy.hears(query)

    def reset(self) -> Memory:
        """A memory for a new episode: the plans of its rows."""
        return dict[int, tuple[bytes, Following]]()

    @staticmethod
    def following(memory: Memory, row: int = 0) -> Following | None:
        """Where a row of an episode is in its plan; None before it has acted."""
        return memory[row][1] if row in memory else None

    def act(
        self,
        observation: ArrayLike,
        goal: ArrayLike,
        query: QueryLike,
        *,
        rng: np.random.Generator | None = None,
        memory: Memory | None = None,
    ) -> Floats:
        """Choose actions `[A]` or `[B, A]`: see `goalsets.core.acting.Policy.act`."""
        asked = self._reader.read(observation, goal, query)
        memory = memory if memory is not None else self.reset()
        if asked.single:
            only = asked.states[0], asked.goals[0], asked.masks[0]
            return self._act(0, *only, query, rng, memory)
        states, goals, masks = asked.each_row()
        actions = [
            self._act(row, states[row], goals[row], masks[row], query, rng, memory)
            for row in range(asked.rows)
        ]
        return np.stack(actions)

    def _act(
        self,
        row: int,
        state: Floats,
        goal: Floats,
        mask: Flags,
        query: QueryLike,
        rng: np.random.Generator | None,
        memory: Memory,
    ) -> Floats:
        key = goal.tobytes() + mask.tobytes()
        if row not in memory or memory[row][0] != key:
            goals = GoalSet(np.array(goal), as_query(query, mask, self.layout))
            following = self._follower.begin(state, goals)
            following.memory = self.policy.reset()
            memory[row] = (key, following)
        following = memory[row][1]
        reference, due = self._follower.question(following, state)
        action = self.policy.act(state, reference, due, rng=rng, memory=following.memory)
        return following.shaking.shake(action, state, self.planner.deviations)

    def distance(self, observation: ArrayLike, goal: ArrayLike, query: QueryLike) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`, as the policy does when asked at once."""
        return self.policy.distance(observation, goal, query)


def as_query(query: QueryLike, mask: Flags, layout: StateLayout) -> Query:
    """The query that a mask, or whatever was asked, stands for."""
    if isinstance(query, Query):
        return query
    if isinstance(query, str):
        return Query.parse(query, layout)
    return Query.parse(f"[{','.join(map(str, np.flatnonzero(mask)))}]", layout)
