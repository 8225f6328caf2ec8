"""A policy that plans: it reaches a goal set by a chain of questions.

`PlanningPolicy` is a `Policy` like any other. It makes a plan for a goal set, and asks the policy
inside it for the current step of the plan.
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
"""How moves are priced: by the steps that they took in the data, or by a policy's prediction."""


def distance_of(policy: Policy) -> Distance:
    """The distance of a policy in steps; an error if its distance has another unit."""
    if policy.distance_unit != STEPS:
        told = policy.distance_unit or "none"
        raise GoalsetsError(
            "prices 'policy' need a policy that predicts steps; the unit of this policy's distance "
            f"is: {told}. Use prices 'data', or train gcivl, gciql, gcdl or qrl."
        )
    return policy.distance


class PlanningPolicy:
    """A policy that asks another one chains of questions: a `goalsets.core.acting.Policy`.

    Args:
        policy: The policy that answers single questions.
        planner: The planner that makes chains of questions.
        prices: How moves are priced: by the steps in the data, or by the policy's own distance.
    """

    def __init__(self, policy: Policy, planner: Planner, prices: Prices = "data") -> None:
        """Check that the policy and the planner fit."""
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
        """Which questions it answers, as text for people."""
        return f"{self.policy.answers}, by a chain of questions"

    @property
    def distance_unit(self) -> str | None:
        """The unit of its distance; None if it learns no distance."""
        return self.policy.distance_unit

    def hears(self, query: QueryLike) -> Flags:
        """Which coordinates of a goal the policy sees under this query: `[D]` or `[B, D]`."""
        return self.policy.hears(query)

    def reset(self) -> Memory:
        """A memory for a new episode: the plans of its rows."""
        return dict[int, tuple[bytes, Following]]()

    @staticmethod
    def following(memory: Memory, row: int = 0) -> Following | None:
        """The position of a row in its plan; None before its first action."""
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
        """Predict how far the goal set is, `[]` or `[B]`, as the policy does without a plan."""
        return self.policy.distance(observation, goal, query)


def as_query(query: QueryLike, mask: Flags, layout: StateLayout) -> Query:
    """The query of a mask or of a text."""
    if isinstance(query, Query):
        return query
    if isinstance(query, str):
        return Query.parse(query, layout)
    return Query.parse(f"[{','.join(map(str, np.flatnonzero(mask)))}]", layout)
