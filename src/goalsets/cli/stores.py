"""Where the command line finds the data of a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from goalsets.core import GoalsetsError

if TYPE_CHECKING:
    from goalsets.data.store import Store


def find_store(task: str, data: Path | None) -> Store:
    """Open the store that was named, or the task's own; raise an error that says how to get it."""
    from goalsets.data.paths import data_dir
    from goalsets.data.store import INDEX, Store

    path = data or data_dir() / task
    if data is not None or (path / INDEX).exists():
        return Store.open(path, mapped=True)
    if task.startswith("tabletop-"):
        raise GoalsetsError(
            f"there is no data for {task} in {path}. 'goalsets train {task}' makes it."
        )
    raise GoalsetsError(
        f"there is no data for {task} in {path}. Make it on the spot:\n"
        f"  goalsets data collect {task}\n  goalsets data import ogbench {task}\n"
        "or name a store with --data."
    )
