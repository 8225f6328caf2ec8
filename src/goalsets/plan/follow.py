"""Following a plan: a policy that is asked one question after another.

`PlanningPolicy` is a `Policy` like any other. Whoever asks it for a goal set gets the action of the
policy inside it, which is asked for the step of the plan that is due.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalSet, Query, StateLayout
from goalsets.core.acting import Memory, Policy
from goalsets.core.inputs import InputReader, QueryLike
from goalsets.plan.chain import Plan, Step
from goalsets.plan.found import Penalties
from goalsets.plan.parts import STILL, Floats, Part
from goalsets.plan.planner import Planner, check_layout
from goalsets.plan.roads import Way
from goalsets.plan.shaking import Shaking

Masks = NDArray[np.bool_]

_NOTHING = np.zeros(0, np.float32)
_PATIENCE = 2.0
"""A question may take so many times its price, …"""
_GRACE = 30
"""… and so many steps more, before another way is looked for."""
_LOOK = 5
"""Steps between looks at what held, and along a road."""
_AHEAD = 0.3
"""The share of a road's reach that is asked for at once: near enough to go straight."""
_LINGER, _DETOUR = 30, 25
"""A road on which it comes no nearer for so many steps is left for so many."""
_TRIED = 150.0
"""What a move costs more after it did not work out."""


@dataclass
class Following:
    """Where somebody is in a plan: the memory of one episode."""

    goals: GoalSet
    plan: Plan
    at: int = 0
    """The number of the step that is due."""
    waited: int = 0
    """Steps since it was asked first."""
    plans: int = 1
    """How many plans were made."""
    penalties: Penalties = field(default_factory=Penalties)
    entered: Floats = field(default_factory=lambda: _NOTHING)
    """The state `[D]` in which it was asked first."""
    looked: Floats = field(default_factory=lambda: _NOTHING)
    """How all parts were at the last look for surprises."""
    way: Way | None = None
    """For a step along a road."""
    place: Floats | None = None
    """The state on the road that is asked for."""
    nearest: float = np.inf
    """The fewest steps that were left on the road, …"""
    lingered: int = 0
    """… and for how many steps it has been so."""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    """Draws detours."""
    memory: Memory | None = None
    """The memory of the policy that is asked."""
    shaking: Shaking = field(default_factory=Shaking)
    """Gets the robot out of where it is stuck."""

    @property
    def step(self) -> Step | None:
        """The step that is due; None when the whole question is asked."""
        return self.plan.steps[self.at] if self.at < len(self.plan.steps) else None


class Follower:
    """Says which question is due.

    Args:
        planner: Makes the plans.
    """

    def __init__(self, planner: Planner) -> None:
        """Nothing is asked yet."""
        self.planner = planner

    def begin(self, state: Floats, goals: GoalSet) -> Following:
        """Plan anew."""
        return self._enter(Following(goals, self.planner.plan(state, goals)), state)

    def question(self, following: Following, state: Floats) -> tuple[Floats, Masks]:
        """The reference `[D]` and the mask `[D]` to ask for in a state `[D]`; moves the plan on."""
        step = following.step
        if step is not None:
            if step.holds(state):
                self._arrived(following, state)
            elif following.waited > _PATIENCE * step.steps + _GRACE:
                self._give_up(following, state, step)
            elif following.waited % _LOOK == 0 and self._is_surprised(following, step, state):
                self._replan(following, state)
        elif following.waited > _GRACE and not bool(following.goals.contains(state)):
            self._replan(following, state)
        following.waited += 1
        step = following.step
        if step is None:
            return following.goals.reference, following.goals.query.mask
        if following.way is not None:
            if following.place is None or following.waited % _LOOK == 0:
                following.place = self._next_place(following, following.way, state)
            return following.place, step.goals.query.mask
        return step.goals.reference, step.goals.query.mask

    def _next_place(self, following: Following, way: Way, state: Floats) -> Floats:
        """The place on the road to ask for; somewhere else for a while, if it comes no nearer."""
        ahead = self.planner.reach * _AHEAD
        left = way.left(state)
        if left < following.nearest - 1:
            following.nearest, following.lingered = left, 0
        following.lingered += _LOOK
        if following.lingered < _LINGER:
            return way.ahead(state, ahead)
        if following.lingered == _LINGER or following.place is None:
            return way.detour(state, ahead, following.rng)
        if following.lingered >= _LINGER + _DETOUR:
            following.nearest, following.lingered = np.inf, 0
        return following.place

    def change(self, following: Following, state: Floats, steps: Sequence[Step]) -> None:
        """Take other steps for those that are due and to come, as somebody wishes.

        They hold until the next plan is made: when one of them takes too long, or a part is lost.
        """
        done = following.plan.steps[: following.at]
        following.plan = Plan(following.goals, (*done, *steps))
        self._enter(following, state)

    def _arrived(self, following: Following, state: Floats) -> None:
        following.at += 1
        self._enter(following, state)
        if self._lost(following, state):
            self._replan(following, state)

    def _is_surprised(self, following: Following, step: Step, state: Floats) -> bool:
        """Whether something changed, since a step was begun, that it should not change.

        A switch that jumped is a surprise even if the step is about it: the step would hold now.
        What still moves, such as a cube that is just being put down, is looked at when it rests.
        """
        columns, tolerances, owners = self._watched
        before, following.looked = following.looked, state[columns]
        changed = np.abs(following.looked - following.entered[columns]) > tolerances
        if len(before):
            rests = np.abs(following.looked - before) <= STILL * tolerances
            changed &= rests | (tolerances == 0)
        return any(
            owners[place].nature == "switch" or owners[place].name not in step.parts
            for place in np.flatnonzero(changed)
        )

    @functools.cached_property
    def _watched(self) -> tuple[NDArray[np.intp], Floats, list[Part]]:
        """All coordinates of parts, by how much each may change by itself, and whose it is."""
        found = [
            (column, tolerance, part)
            for part in self.planner.parts
            for group, tolerance in zip(part.groups, part.tolerances, strict=True)
            for column in group.indices
        ]
        columns = np.array([column for column, _, _ in found], np.intp)
        tolerances = np.array([tolerance for _, tolerance, _ in found], np.float32)
        return columns, tolerances, [part for _, _, part in found]

    def _lost(self, following: Following, state: Floats) -> bool:
        """Whether a step that was done holds no more, and no later one moves the same parts."""
        moved: set[str] = set()
        for number in range(len(following.plan.steps) - 1, -1, -1):
            step = following.plan.steps[number]
            kept = number < following.at and not step.aside and not moved.intersection(step.parts)
            if kept and not step.holds(state):
                return True
            moved.update(step.parts)
        return False

    def _give_up(self, following: Following, state: Floats, step: Step) -> None:
        """Look for another way; if there is none, the same is tried again."""
        if step.move is not None:
            following.penalties.add(step.move, _TRIED)
        self._replan(following, state)

    def _replan(self, following: Following, state: Floats) -> None:
        """Plan anew. Where no chain is found, as while a cube is in the air, the old one stays."""
        plan = self.planner.plan(state, following.goals, following.penalties)
        following.plans += 1
        if plan.found or not following.plan.found:
            following.plan, following.at = plan, 0
        self._enter(following, state)

    def _enter(self, following: Following, state: Floats) -> Following:
        """Begin a step."""
        following.waited = 0
        following.entered, following.looked = np.array(state, np.float32), _NOTHING
        following.way = following.place = None
        following.nearest, following.lingered = np.inf, 0
        step = following.step
        if step is not None:
            roads = self.planner.roads_of(step.goals)
            following.way = roads.to(np.asarray(step.goals.reference)) if roads else None
        return following


class PlanningPolicy:
    """A policy that is asked chains of questions, as a `goalsets.core.acting.Policy`.

    Args:
        policy: Answers single questions.
        planner: Makes chains of them.
    """

    def __init__(self, policy: Policy, planner: Planner) -> None:
        """Check that the two fit."""
        check_layout(planner, policy.layout)
        self.policy = policy
        self.planner = planner
        self._follower = Follower(planner)
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

    def hears(self, query: QueryLike) -> Masks:
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
        mask: Masks,
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


def as_query(query: QueryLike, mask: Masks, layout: StateLayout) -> Query:
    """The query that a mask, or whatever was asked, stands for."""
    if isinstance(query, Query):
        return query
    if isinstance(query, str):
        return Query.parse(query, layout)
    return Query.parse(f"[{','.join(map(str, np.flatnonzero(mask)))}]", layout)
