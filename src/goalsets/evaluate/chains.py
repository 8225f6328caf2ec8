"""Record a chain of questions in an episode: which were asked, and which were answered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalSet
from goalsets.core.acting import Memory
from goalsets.core.inputs import QueryLike
from goalsets.plan import Following, PlanningPolicy

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class AskedStep:
    """A question of a chain, and how it went."""

    text: str
    """The question in words."""
    goals: GoalSet
    plan: int
    """The number of the plan that it belongs to, from 1."""
    number: int
    """Its number in that plan, from 1; the whole question comes after all steps."""
    first: int
    """The step of the episode at which it was asked first."""
    last: int
    """The step at which it ended."""
    done: bool = False
    """Whether it held then; if not, another plan was made or the episode ended."""


class WatchedPlanning(PlanningPolicy):
    """A planning policy that notes what it asks in one episode."""

    asked: tuple[AskedStep, ...] = ()
    """The questions so far, in order."""
    plans: int = 0
    """How many plans were made."""
    _taken: int = 0

    def act(
        self,
        observation: ArrayLike,
        goal: ArrayLike,
        query: QueryLike,
        *,
        rng: np.random.Generator | None = None,
        memory: Memory | None = None,
    ) -> Floats:
        """Act like the planning policy, and note the question of the moment."""
        memory = self.reset() if memory is None else memory
        action = super().act(observation, goal, query, rng=rng, memory=memory)
        following = self.following(memory)
        if following is not None:
            self._note(following, np.asarray(observation, np.float32))
        self._taken += 1
        return action

    def due(self) -> str:
        """The last question in words; "" before the first action."""
        return str(self.asked[-1].goals.query) if self.asked else ""

    def finish(self, observation: Floats) -> None:
        """Note how the last question ended, at the last observation of the episode."""
        if self.asked:
            self._close(observation)

    def _note(self, following: Following, state: Floats) -> None:
        key = following.plans, following.at + 1
        if self.asked and (self.asked[-1].plan, self.asked[-1].number) == key:
            return
        self.finish(state)
        step = following.step
        goals = following.goals if step is None else step.goals
        why = f", as {following.plan.missing}" if following.plan.missing else ""
        text = f"the whole question{why}" if step is None else str(step)
        self.asked += (AskedStep(text, goals, *key, self._taken, self._taken),)
        self.plans = following.plans

    def _close(self, state: Floats) -> None:
        over = replace(
            self.asked[-1], last=self._taken, done=bool(self.asked[-1].goals.contains(state))
        )
        self.asked = (*self.asked[:-1], over)
