"""The course of a stage: its plan, its progress, and the changes that a person made to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, GoalsetsError
from goalsets.core.acting import Memory
from goalsets.plan import Follower, Plan, Planner, Step
from goalsets.play.goal import Goal
from goalsets.play.world import Floats

_PRICE = 100.0
"""Time limit, in steps, of a person's own step if the data shows nothing like it."""


@dataclass(frozen=True, eq=False)
class Chain:
    """A plan at one moment, ready to be drawn."""

    plan: Plan
    at: int
    """The number of the current step; beyond the last when the whole question is asked."""
    plans: int
    """How many plans were made."""
    own: frozenset[int]
    """The numbers of the steps that a person inserted."""
    asked: GoalSet | None
    """The current question; None when it is the whole question."""
    goal: Goal | None
    """Its reference, to be drawn as the ghost."""

    @property
    def left(self) -> list[int]:
        """The numbers of the steps that are not done."""
        return list(range(self.at, len(self.plan.steps)))


class Course:
    """Follows a plan.

    Args:
        planner: Makes plans.
        state: `[D]`, the current state.
        goals: The question.
        memory: A new memory of the policy.
    """

    def __init__(
        self, planner: Planner, state: Floats, goals: GoalSet, memory: Memory | None
    ) -> None:
        """Make the first plan."""
        self._planner = planner
        self._follower = Follower(planner)
        self._following = self._follower.begin(state, goals)
        self._following.memory = memory
        self._own: list[Step] = []
        self._drawn: Chain | None = None

    @property
    def memory(self) -> Memory | None:
        """The memory of the policy."""
        return self._following.memory

    def question(self, state: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The reference `[D]` and the mask `[D]` to ask for in a state `[D]`."""
        return self._follower.question(self._following, state)

    def shaken(self, action: Floats, state: Floats) -> Floats:
        """The action `[A]` to take in a state `[D]`; with noise if the robot is stuck."""
        return self._following.shaking.shake(action, state, self._planner.deviations)

    def chain(self) -> Chain:
        """The current plan; the same object as long as nothing has changed."""
        following, drawn = self._following, self._drawn
        step = following.step
        asked = None
        if step is not None:
            place = following.place
            asked = step.goals if place is None else GoalSet(place, step.goals.query)
        if drawn is not None and (drawn.plan, drawn.at) == (following.plan, following.at):
            if asked is None or drawn.asked is None:
                return drawn
            if np.array_equal(asked.reference, drawn.asked.reference):
                return drawn
        goal = None
        if asked is not None:
            title = f"step {following.at + 1} of the plan"
            goal = Goal.whole(asked.layout, np.asarray(asked.reference), title)
        steps = following.plan.steps
        own = frozenset(n for n, one in enumerate(steps) if any(one is o for o in self._own))
        self._drawn = Chain(following.plan, following.at, following.plans, own, asked, goal)
        return self._drawn

    def move(self, number: int, by: int, state: Floats) -> None:
        """Do a step earlier (−1) or later (1)."""

        def swap(steps: list[Step], place: int) -> None:
            other = place + by
            if not 0 <= other < len(steps):
                raise GoalsetsError(
                    "this step is due already." if by < 0 else "this step is the last already."
                )
            steps[place], steps[other] = steps[other], steps[place]

        self._change(number, state, swap)

    def drop(self, number: int, state: Floats) -> None:
        """Leave a step out."""
        self._change(number, state, lambda steps, place: steps.pop(place))

    def insert(self, goals: GoalSet, state: Floats) -> None:
        """Insert a step before the current one; then the plan goes on."""
        found = self._planner.plan(state, goals)
        known = found.found and bool(found.steps)
        step = Step(
            goals,
            tuple(term.name for term in goals.query.terms),
            found.price if known else _PRICE,
            max((one.far for one in found.steps), default=0.0),
            min((one.support for one in found.steps), default=0),
            # It need not hold until the end of the plan.
            aside=True,
        )
        self._own.append(step)
        rest = self._following.plan.steps[self._following.at :]
        self._follower.change(self._following, state, [step, *rest])

    def _change(
        self, number: int, state: Floats, edit: Callable[[list[Step], int], object]
    ) -> None:
        """Edit the remaining steps; `number` is the number of one of them in the plan."""
        following = self._following
        steps: Sequence[Step] = following.plan.steps
        if not following.at <= number < len(steps):
            raise GoalsetsError(f"the plan has no step {number + 1} that is still to be done.")
        rest = list(steps[following.at :])
        edit(rest, number - following.at)
        self._follower.change(following, state, rest)
