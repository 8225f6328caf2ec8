"""The goal on the page: a full state, and for each group the source of its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from goalsets.core import StateLayout
from goalsets.envs.tasks import Task
from goalsets.evaluate.conditions import Condition
from goalsets.evaluate.goals import GoalError, GoalFinder, edit_goal
from goalsets.evaluate.suites.description import SuiteError, shipped_description
from goalsets.play.grips import Grip, grips_of
from goalsets.play.poser import Poser
from goalsets.play.world import Floats

FOLLOWS = "follows"
"""The source of a group that changed because another group was edited."""


@dataclass(frozen=True)
class Goal:
    """A full reference state, and the source of each group."""

    layout: StateLayout
    state: Floats
    """`[D]`."""
    title: str
    """A description, such as `held-out state 17`."""
    sources: Mapping[str, str]
    """The source of each group's numbers; `rest` for coordinates without a group."""

    @classmethod
    def whole(cls, layout: StateLayout, state: Floats, source: str) -> Goal:
        """A goal whose numbers all come from one place."""
        names = [group.name for group in layout.groups]
        if None in layout.owners:
            names.append("rest")
        state = np.array(state, dtype=np.float32)
        return cls(layout, state, source, dict.fromkeys(names, source))

    def changed(self, state: Floats, sources: Mapping[str, str]) -> Goal:
        """This goal with another state; `sources` gives the groups with a new source."""
        title = self.title if self.title.endswith(", changed") else f"{self.title}, changed"
        return Goal(self.layout, state, title, {**self.sources, **sources})


class Shelf:
    """Supplies goals: held-out states, official goals, and edits of a goal.

    Args:
        poser: The poser of the task.
        bank: Held-out states `[N, D]`; there may be none.
        bank_name: A description of the bank.
    """

    def __init__(self, poser: Poser, bank: Floats, bank_name: str) -> None:
        """Keep the parts."""
        self.poser = poser
        self.bank = bank
        self.bank_name = bank_name
        self.grips = grips_of(poser.task)

    @property
    def task(self) -> Task:
        """The task whose states these are."""
        return self.poser.task

    def official(self, task_id: int, seed: int) -> Goal:
        """The official goal of a task id."""
        state, _ = self._finder(seed).find(f"task:{task_id}")
        return Goal.whole(self.task.layout, state, f"official goal {task_id}")

    def held_out(self, row: int) -> Goal:
        """A held-out state by its number."""
        state, _ = self._finder(0).find(f"bank:{row}")
        return Goal.whole(self.task.layout, state, f"held-out state {row}")

    def rows(self, condition: str) -> list[int]:
        """The numbers of the held-out states that satisfy a condition; "" means all."""
        if not condition.strip():
            return list(range(len(self.bank)))
        held = Condition.parse(condition, self.task.layout).holds(self.bank)
        found = [int(row) for row in np.flatnonzero(held)]
        if not found:
            raise GoalError(f"none of {len(self.bank):,} held-out states satisfies '{condition}'.")
        return found

    def edit(self, goal: Goal, text: str) -> Goal:
        """A goal with other numbers, such as `block0_pos.z=6cm; gripper_opening=0`."""
        edits = [piece.strip() for piece in text.split(";") if piece.strip()]
        state = edit_goal(goal.state, edits, self.task.layout)
        return self._consistent(
            goal, state, dict.fromkeys(self._differ(goal.state, state), "typed")
        )

    def move(self, goal: Goal, grip: Grip, place: tuple[float, float, float], yaw: float) -> Goal:
        """A goal with one thing dragged to a place in the world, in metres and radians."""
        state = grip.put(goal.state, place, yaw)
        return self._consistent(goal, state, dict.fromkeys(grip.groups, "dragged"))

    def _consistent(self, goal: Goal, state: Floats, sources: Mapping[str, str]) -> Goal:
        """Let an arm follow its gripper and so on, so that the reference is a possible state."""
        settled = self.poser.follow(state, tuple(sources))
        followed = dict.fromkeys(self._differ(state, settled), FOLLOWS)
        return goal.changed(settled, {**followed, **sources})

    def _differ(self, before: Floats, after: Floats) -> list[str]:
        """The groups in which two states differ."""
        apart = before != after
        return [g.name for g in self.task.layout.groups if apart[list(g.indices)].any()]

    def _finder(self, seed: int) -> GoalFinder:
        return GoalFinder(
            self.task.layout,
            self.task.goals,
            lambda task_id: self.poser.official(task_id, seed),
            start=1,
            bank=lambda: self.bank,
        )


def ready_filters(task: Task) -> list[str]:
    """Conditions on held-out states that the task's suite uses."""
    try:
        predicates = shipped_description(task.name).predicates
    except SuiteError:
        return []
    return list(dict.fromkeys(p.where for p in predicates if p.where is not None))
