"""Questions as people type them: the goal set, where an episode starts, and the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalsets.core import GoalSet
    from goalsets.data.store import Store
    from goalsets.envs.tasks import Adapter, Task
    from goalsets.runs.run import Run


@dataclass(frozen=True)
class Posed:
    """A question, and where it is asked."""

    run: Run
    goals: GoalSet
    world: Adapter
    first: Any
    """The observation `[D]` that the episode starts from."""
    store: Store | None
    """The data that was named, or the task's own if it is there."""


def pose(
    run: Path,
    query: str,
    goal: str | None,
    edits: Sequence[str],
    task_id: int,
    seed: int,
    data: Path | None,
    *,
    render: bool = False,
) -> Posed:
    """Find what a question is about, and say so."""
    from goalsets.collect.find import find_store_if_any
    from goalsets.core import GoalSet, Query
    from goalsets.envs.tasks import TASKS
    from goalsets.evaluate.ask import check_task
    from goalsets.evaluate.goals import GoalFinder, edit_goal
    from goalsets.runs.run import Run

    opened = Run.open(run)
    task, layout = opened.config.task, opened.frame.layout
    check_task(task)
    asked = Query.parse(query, layout)
    store = find_store_if_any(task, data)
    _check_start(TASKS[task], task_id)
    world = TASKS[task].open(render=render)
    finder = GoalFinder(
        layout,
        TASKS[task].goals,
        lambda wanted: world.start(wanted, seed).goal,
        task_id,
        lambda: _bank(store, opened),
        seed,
    )
    reference, source = finder.find(goal or ("bank:0" if opened.shipped else "task"))
    goals = GoalSet(edit_goal(reference, edits, layout), asked)
    print(f"question   {asked}")
    print(f"goal       {source}{', edited' if edits else ''}")
    first, _ = world.start(task_id, seed)
    return Posed(opened, goals, world, first, store)


def _bank(store: Store | None, run: Run) -> Any:  # noqa: ANN401 - an array
    """Held-out states: those that come with a model, or the validation split."""
    from goalsets.cli.printing import find_store

    shipped = run.bank()
    if shipped is not None:
        return shipped
    return (store or find_store(run.config.task, None)).validation.observations


def _check_start(task: Task, number: int) -> None:
    from goalsets.core import GoalsetsError

    if number not in task.goal_numbers:
        raise GoalsetsError(
            f"the official tasks of {task.name} have the ids 1 to {len(task.goals)}, got {number}."
        )
