"""What a person can do with plans: switch them on, change them, and insert a step."""

from __future__ import annotations

from collections.abc import Callable

from goalsets.core import GoalsetsError
from goalsets.play.course import Course
from goalsets.play.show import Show
from goalsets.play.world import Floats


def switch(show: Show, on: bool) -> None:
    """Ask one part after another, or all at once."""
    show.drop_draft()
    show.planning = on
    show.ask()


def change(show: Show, stage: int, edit: Callable[[Course, Floats], None]) -> None:
    """Change the plan of a stage that is live."""
    show.leave()
    course = show.stages[stage].course
    if course is None:
        raise GoalsetsError("there is no plan to change: switch it on first.")
    edit(course, show.stages[stage].world.observation)


def begin_step(show: Show) -> None:
    """Begin a new step: goal and question now belong to it, and start as the current step's."""
    show.leave()
    chains = [stage.course.chain() for stage in show.stages if stage.course is not None]
    if not chains:
        raise GoalsetsError("there is no plan to insert a step into: switch it on first.")
    if show.draft is None:
        show.draft = show.goal, show.question.query
        due = chains[0]
        if due.goal is not None and due.asked is not None:
            show.goal, show.question.query = due.goal, due.asked.query


def insert_step(show: Show) -> None:
    """Insert the step that `begin_step` began before the current step."""
    if show.draft is None:
        raise GoalsetsError("there is no step to insert: begin one first.")
    goals = show.goals
    for stage in show.stages:
        if stage.course is not None:
            stage.course.insert(goals, stage.world.observation)
    show.drop_draft()
