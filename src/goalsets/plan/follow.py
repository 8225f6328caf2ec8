"""Follows a plan: chooses the question to ask next, and plans again when it is needed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet
from goalsets.core.acting import Memory
from goalsets.plan.chain import Plan, Step
from goalsets.plan.found import Distance, Penalties
from goalsets.plan.parts import STILL, Flags, Floats, Part
from goalsets.plan.planner import Planner
from goalsets.plan.roads import Way
from goalsets.plan.shaking import Shaking
from goalsets.plan.turns import Heading, Turning, headings

_NOTHING = np.zeros(0, np.float32)
_PATIENCE = 2.0
"""A step of the plan may take this many times its price, …"""
_GRACE = 30
"""… and this many steps more, before the follower plans again."""
_LOOK = 5
"""Steps between two checks for surprises and for the next place on a road."""
_AHEAD = 0.3
"""The share of a road map's reach that is asked for at once: near enough to go straight."""
_LINGER, _DETOUR = 30, 25
"""If the robot does not come nearer on a road for the first number of steps, it makes a detour for
the second number."""
_TRIED = 150.0
"""The penalty of a move that failed, in steps."""
_RETURNS = 20
"""How often in a plan the previous step may be asked again, because the hand carried its part
away."""


@dataclass
class Following:
    """The position in a plan: the memory of one episode."""

    goals: GoalSet
    plan: Plan
    at: int = 0
    """The number of the current step of the plan."""
    waited: int = 0
    """Steps since the current step of the plan began."""
    held: int = 0
    """Steps for which its goal has held."""
    before: Step | None = None
    """The previous step of the plan, until the parts of the current one begin to move."""
    returns: int = 0
    """How often this plan went back to the previous step."""
    plans: int = 1
    """How many plans were made."""
    penalties: Penalties = field(default_factory=Penalties)
    entered: Floats = field(default_factory=lambda: _NOTHING)
    """The state `[D]` in which the current step of the plan began."""
    looked: Floats = field(default_factory=lambda: _NOTHING)
    """The values of all parts at the last check for surprises."""
    way: Way | None = None
    """The routes to the goal, for a step on a road map."""
    place: Floats | None = None
    """The state on the road that is asked for."""
    turning: Turning = field(default_factory=Turning)
    """The turn of the object, if the current step asks for its heading."""
    nearest: float = np.inf
    """The smallest number of steps that were left on the road, …"""
    lingered: int = 0
    """… and for how many steps it has not become smaller."""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    """Draws detours."""
    memory: Memory | None = None
    """The memory of the policy that is asked."""
    shaking: Shaking = field(default_factory=Shaking)
    """Adds noise when the robot is stuck."""

    @property
    def step(self) -> Step | None:
        """The current step; None after the last one, when the whole goal set is asked for."""
        return self.plan.steps[self.at] if self.at < len(self.plan.steps) else None


class Follower:
    """Chooses the question to ask in each state.

    Args:
        planner: Makes the plans.
        distance: A learner's distance, which prices moves; by default the data prices them.
    """

    def __init__(self, planner: Planner, distance: Distance | None = None) -> None:
        """Keep the planner."""
        self.planner = planner
        self._distance = distance

    def begin(self, state: Floats, goals: GoalSet) -> Following:
        """Make a plan and begin its first step."""
        plan = self.planner.plan(state, goals, distance=self._distance)
        return self._enter(Following(goals, plan), state)

    def question(self, following: Following, state: Floats) -> tuple[Floats, Flags]:
        """The reference `[D]` and mask `[D]` to ask for in a state `[D]`; advances the plan."""
        if following.before is not None and self._takes_along(following, following.before, state):
            following.at, following.returns = following.at - 1, following.returns + 1
            self._enter(following, state)
        step = following.step
        if step is not None:
            holds = step.holds(state)
            following.held = following.held + 1 if holds else 0
            if holds:
                if following.held > self._wait(step):
                    self._arrived(following, state)
            elif following.waited > _PATIENCE * step.steps + _GRACE:
                self._give_up(following, state, step)
            elif following.waited % _LOOK == 0 and self._is_surprised(following, step, state):
                self._replan(following, state)
        elif following.waited > _GRACE and not bool(following.goals.contains(state)):
            self._replan(following, state)
        following.waited += 1
        asked = following.goals if following.step is None else following.step.goals
        mask = asked.query.mask if following.step is None else following.step.mask
        if following.step is not None and following.way is not None:
            if following.place is None or following.waited % _LOOK == 0:
                following.place = self._next_place(following, following.way, state)
            return following.place, mask
        return following.turning.ask(self._headings, state, np.asarray(asked.reference), mask)

    def _next_place(self, following: Following, way: Way, state: Floats) -> Floats:
        """The place on the road to ask for; a detour if the robot does not come nearer."""
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

    def _wait(self, step: Step) -> int:
        """For how many steps the goal of a step is still asked for after it is reached."""
        if not self.planner.wait or step.move is None:
            return 0
        settles = [self.planner.parts[place].nature == "settling" for place in step.move[0]]
        return self.planner.wait if all(settles) else 0

    def change(self, following: Following, state: Floats, steps: Sequence[Step]) -> None:
        """Replace the current and the coming steps by those of the user.

        They are used until a new plan is made, because a step takes too long or a part is lost.
        """
        done = following.plan.steps[: following.at]
        following.plan = Plan(following.goals, (*done, *steps))
        self._enter(following, state)

    def _arrived(self, following: Following, state: Floats) -> None:
        done = following.step
        following.at += 1
        self._enter(following, state)
        if self._lost(following, state):
            self._replan(following, state)
        else:
            following.before = done

    def _takes_along(self, following: Following, before: Step, state: Floats) -> bool:
        """Whether the part of the previous step leaves its place before the current part moves.

        A policy may keep hold of an object that has arrived, because it never learned to release
        it. Asked for the next object, it carries the first one there. So the policy is asked for
        the first object again until it has released it.
        """
        step = following.step
        if step is None or following.returns >= _RETURNS:
            return False
        columns, tolerances, owners = self._watched
        moved = np.abs(state[columns] - following.entered[columns]) > tolerances
        if any(owners[place].name in step.parts for place in np.flatnonzero(moved)):
            following.before = None
            return False
        return not before.holds(state)

    def _is_surprised(self, following: Following, step: Step, state: Floats) -> bool:
        """Whether something has changed, since the step began, that it should not change.

        A switch that has changed is a surprise even if the step asks for it, because otherwise the
        step would be done. A part that still moves, such as a cube that is being put down, is
        checked when it rests.
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
    def _headings(self) -> tuple[Heading, ...]:
        planner = self.planner
        return headings(planner.parts, planner.moves, planner.early_turns)

    @functools.cached_property
    def _watched(self) -> tuple[NDArray[np.intp], Floats, list[Part]]:
        """All coordinates of parts, how much each may change, and the part of each."""
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
        """Whether the goal of a finished step is lost, and no later step moves its parts."""
        moved: set[str] = set()
        for number in range(len(following.plan.steps) - 1, -1, -1):
            step = following.plan.steps[number]
            kept = number < following.at and not step.aside and not moved.intersection(step.parts)
            if kept and not step.holds(state):
                return True
            moved.update(step.parts)
        return False

    def _give_up(self, following: Following, state: Floats, step: Step) -> None:
        """Give the move a penalty and plan again; if there is no other plan, try it again."""
        if step.move is not None:
            following.penalties.add(step.move, _TRIED)
        self._replan(following, state)

    def _replan(self, following: Following, state: Floats) -> None:
        """Plan again. If no chain is found, as while a cube is in the air, keep the old plan."""
        plan = self.planner.plan(state, following.goals, following.penalties, self._distance)
        following.plans += 1
        if plan.found or not following.plan.found:
            following.plan, following.at, following.returns = plan, 0, 0
        self._enter(following, state)

    def _enter(self, following: Following, state: Floats) -> Following:
        """Begin a step."""
        following.waited, following.held, following.before = 0, 0, None
        following.entered, following.looked = np.array(state, np.float32), _NOTHING
        following.way = following.place = None
        following.turning = Turning()
        following.nearest, following.lingered = np.inf, 0
        step = following.step
        if step is not None:
            roads = self.planner.roads_of(step.goals)
            following.way = roads.to(np.asarray(step.goals.reference)) if roads else None
        return following
