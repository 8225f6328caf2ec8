"""Goals and questions for logs.

A goal is a state of the episode that is shown, any held-out state, or edited numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalsets.check.questions import make_question
from goalsets.core import GoalsetsError, Query, StateLayout
from goalsets.data.tolerances import UsualTolerances
from goalsets.data.trajectories import Trajectories
from goalsets.evaluate.conditions import Condition
from goalsets.evaluate.goals import GoalError, GoalFinder, edit_goal
from goalsets.play.goal import Goal
from goalsets.play.question import Question
from goalsets.play.world import Floats


class LogQuestion(Question):
    """A question on a page of logs; if the layout has no tolerance, the data gives one.

    It is the usual tolerance, as in `goalsets check`.
    """

    def __init__(self, layout: StateLayout, text: str, usual: UsualTolerances) -> None:
        """Begin with a question; `usual` gives the tolerances that the layout lacks."""
        self._usual = usual
        self.note = ""
        """Assumptions, in words."""
        super().__init__(layout, text)

    def _askable(self, query: Query) -> Query:
        asked = make_question(query, self._usual)
        self.note = self.note if asked.query == query else asked.note
        return super()._askable(asked.query)


@dataclass(frozen=True, eq=False)
class LogShelf:
    """Supplies goals.

    Held-out states are numbered through all episodes, like `bank:17` in other commands.
    """

    layout: StateLayout
    data: Trajectories

    def step(self, episode: int, step: int) -> Goal:
        """The state at a step of an episode."""
        states = self.data.episode(episode).observations
        if not 0 <= step < len(states):
            raise GoalError(f"episode {episode} has the steps 0 to {len(states) - 1}, got {step}.")
        return self._goal(states[step], f"step {step} of episode {episode}")

    def held_out(self, row: int) -> Goal:
        """A held-out state by its number."""
        state, _ = self._finder().find(f"bank:{row}")
        episode, step = self.locate(row)
        return self._goal(state, f"held-out state {row}: step {step} of episode {episode}")

    def row(self, text: str) -> int:
        """The number of a held-out state as other commands name it: `bank:17`, or a condition."""
        kind, colon, rest = text.partition(":")
        wanted = (rest if colon and kind.strip() == "bank" else text).strip()
        if wanted.isdecimal():
            return int(wanted)
        if not wanted:
            raise GoalError("name a held-out state, such as bank:17, or by a condition on it.")
        held = np.flatnonzero(Condition.parse(wanted, self.layout).holds(self.data.observations))
        if len(held) == 0:
            raise GoalError(f"none of {self.data.num_states:,} states satisfies '{wanted}'.")
        # Take the middle one: the first has only just begun to satisfy the condition.
        return int(held[len(held) // 2])

    def edit(self, goal: Goal, text: str) -> Goal:
        """A goal with other numbers, such as `gripper=0; elbow=30deg`."""
        edits = [piece.strip() for piece in text.split(";") if piece.strip()]
        if not edits:
            name = self.layout.groups[0].name if self.layout.groups else "[0]"
            raise GoalsetsError(f"type what to set, such as {name}=0.")
        state = edit_goal(goal.state, edits, self.layout)
        apart = goal.state != state
        typed = [g.name for g in self.layout.groups if apart[list(g.indices)].any()]
        if any(apart[i] for i, owner in enumerate(self.layout.owners) if owner is None):
            typed.append("rest")
        return goal.changed(state, dict.fromkeys(typed, "typed"))

    def locate(self, row: int) -> tuple[int, int]:
        """The episode and the step of a held-out state."""
        episode = int(np.searchsorted(self.data.offsets, row, side="right")) - 1
        return episode, row - int(self.data.offsets[episode])

    def _goal(self, state: Floats, source: str) -> Goal:
        return Goal.whole(self.layout, np.asarray(state), source)

    def _finder(self) -> GoalFinder:
        def official(_: int) -> Floats:
            raise GoalError("logs have no official goals: take a recorded state.")

        return GoalFinder(self.layout, (), official, 1, lambda: self.data.observations)
