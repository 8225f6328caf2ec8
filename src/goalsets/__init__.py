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
        run: A run directory, or "demo", the model that comes with goalsets.
        step: A step with kept weights; by default the latest checkpoint.
    """
    with needed_by("loading a run"):
        from goalsets.runs.run import load  # imports torch, which not all users need

    return load(run, step)


def check_task(task: Task | str) -> list[str]:
    """Check a task, as Gymnasium's `check_env` checks an environment.

    If something is missing or wrong, one error lists everything. Otherwise the result is a list of
    remarks: what the task cannot do.

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
