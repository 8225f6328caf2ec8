"""goalsets: queryable robot goals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goalsets.core import (
    Episode,
    GoalSet,
    GoalsetsError,
    Group,
    Query,
    StateLayout,
    read_layout,
    write_layout,
)
from goalsets.core.extras import needed_by
from goalsets.core.plugins import load_plugin

if TYPE_CHECKING:
    from pathlib import Path

    from goalsets.envs.task import Task
    from goalsets.policy import TrainedPolicy

__version__ = "0.1.0"


def load(run: str | Path, step: int | None = None) -> TrainedPolicy:
    """Load a trained policy.

    Args:
        run: A run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
    """
    with needed_by("loading a run"):
        from goalsets.runs.run import load  # torch is imported only by those who need it

    return load(run, step)


def check_task(task: Task | str) -> list[str]:
    """Check whether a task fits, as Gymnasium's `check_env` does for an environment.

    One error lists everything that is missing or wrong. Where nothing is, remarks come back: what
    the task cannot do.

    Args:
        task: The task, or its name.
    """
    from goalsets.envs.check import check_task
    from goalsets.envs.tasks import TASKS

    return check_task(TASKS[task] if isinstance(task, str) else task)


__all__ = [
    "Episode",
    "GoalSet",
    "GoalsetsError",
    "Group",
    "Query",
    "StateLayout",
    "__version__",
    "check_task",
    "load",
    "load_plugin",
    "read_layout",
    "write_layout",
]
