"""Finds the data of a task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from goalsets.collect.recipes import RECIPES
from goalsets.core import GoalsetsError
from goalsets.data.paths import data_dir
from goalsets.data.store import INDEX, Store
from goalsets.data.writer import write_store
from goalsets.envs.tasks import TASKS, Script, Task
from goalsets.workers import silence


def find_store(
    task: str,
    data: Path | None = None,
    *,
    make: bool = False,
    say: Callable[[str], None] = silence,
) -> Store:
    """Open a store: the given one, or the one in the task's default directory.

    The store is memory-mapped and not checked: call `verify` to compare its digests.

    Args:
        task: The task.
        data: The store's directory; by default that of the task.
        make: If the data is missing and the task can make it in seconds, make it.
        say: Called with messages while data is made.

    Raises:
        GoalsetsError: There is no data; the message says how to get it.
    """
    path = data or data_dir() / task
    if (path / INDEX).exists():
        return Store.open(path, mapped=True)
    script = TASKS[task].script if task in TASKS else None
    if data is None and script is not None:
        if make:
            return _make(TASKS[task], script, path, say)
        raise GoalsetsError(
            f"there is no data for {task} in {path}. 'goalsets train {task}' makes it."
        )
    raise GoalsetsError(f"there is no data for {task} in {path}. {_ways(task, path)}")


def _ways(task: str, path: Path) -> str:
    """Text that says how to get the data of a task."""
    ways = [f"  goalsets data collect {task}"] if task in RECIPES else []
    if task in TASKS and TASKS[task].published:
        ways.append(f"  goalsets data import ogbench {task}")
    if ways:
        return "\n".join(["Collect or download it:", *ways, "or name a store with --data."])
    return (
        f"Import a log of it: 'goalsets data import SOURCE LOG --output {path}' ('goalsets data "
        "import --help' lists the sources). Or name a store with --data."
    )


def find_store_if_any(task: str, data: Path | None = None) -> Store | None:
    """Open the given store, or that of the task; None if the task has none."""
    try:
        return find_store(task, data)
    except GoalsetsError:
        if data is not None:
            raise
        return None


def _make(task: Task, script: Script, path: Path, say: Callable[[str], None]) -> Store:
    """Make the data of a task. A message comes first, because this may take a minute."""
    say(f"making the data of {task.name}, once: {path}")
    train, held_out = script.train(), script.held_out()
    say(f"collected {len(train):,} episodes of {task.name}")
    return write_store(path, train, held_out, layout=task.layout, source=script.source)
