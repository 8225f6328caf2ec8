"""Turn a question as people type it into a goal set, a start of an episode, and data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalsets.core import GoalSet
    from goalsets.data.store import Store
    from goalsets.envs.tasks import Adapter, Task
    from goalsets.evaluate.goals import Floats
    from goalsets.runs.run import Run


@dataclass(frozen=True)
class Posed:
    """A question, and the start of the episode in which it is asked."""

    run: Run
    goals: GoalSet
    world: Adapter
    first: Any
    """The observation `[D]` that the episode starts from."""
    store: Store | None
    """The store that was named, or that of the task if it exists."""


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
    """Find the goal set, the start and the data of a question, and print the first two."""
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
    # The official goal is about the official question. Other questions about it are dull: the robot
    # stands as it does at every start. A model that comes with goalsets has better states.
    usual = "bank:0" if opened.shipped and query != "task" else "task"
    reference, source = finder.find(goal or usual)
    goals = GoalSet(edit_goal(reference, edits, layout), asked)
    print(f"question   {asked}")
    print(f"goal       {source}{', edited' if edits else ''}")
    first, _ = world.start(task_id, seed)
    return Posed(opened, goals, world, first, store)


def _bank(store: Store | None, run: Run) -> Any:  # noqa: ANN401 - an array
    """Held-out states: those shipped with a model, or the validation split."""
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


def run_store(run: Run, data: Path | None) -> Store:
    """The store that was named, or else the one that the run was trained on."""
    from goalsets.cli.printing import find_store
    from goalsets.data.store import INDEX, Store
    from goalsets.envs.tasks import TASKS

    path = Path(run.config.task)
    if data is None and run.config.task not in TASKS and (path / INDEX).exists():
        return Store.open(path, mapped=True)
    return find_store(run.config.task, data)


def named_goal(
    run: Run, store: Store, goal: str | None, edits: Sequence[str], seed: int
) -> Floats | None:
    """The goal that was named, with its edits; None if nothing was named.

    An environment is opened only for official goals. Edits without a goal apply to bank:0.
    """
    from goalsets.envs.tasks import TASKS
    from goalsets.evaluate.goals import GoalError, GoalFinder, edit_goal

    if goal is None and not edits:
        return None
    has_world = run.config.task in TASKS

    def official(number: int) -> Floats:
        if not has_world:
            raise GoalError(
                f"{run.config.task} has no environment, so it has no official goal. Take a state "
                "of the data, such as bank:17, or a JSON file with all coordinates."
            )
        world = TASKS[run.config.task].open()
        try:
            return world.start(number, seed).goal
        finally:
            world.close()

    layout = run.frame.layout
    names = TASKS[run.config.task].goals if has_world else ("",)
    finder = GoalFinder(layout, names, official, 1, lambda: store.validation.observations, seed)
    return edit_goal(finder.find(goal or "bank:0")[0], edits, layout)
