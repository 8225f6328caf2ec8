"""goalsets: queryable robot goals."""

from __future__ import annotations

from importlib import import_module
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

    from goalsets.check.questions import make_question
    from goalsets.check.run import check_run
    from goalsets.data import from_episodes
    from goalsets.data.store import Store
    from goalsets.data.tolerances import UsualTolerances
    from goalsets.data.trajectories import Trajectories
    from goalsets.data.writer import write_store
    from goalsets.envs.adapter import Adapter
    from goalsets.envs.goalset_env import GoalSetEnv, make_goalset_env
    from goalsets.envs.task import Task
    from goalsets.evaluate.compare import compare_outcomes
    from goalsets.interop.batches import RelabeledData
    from goalsets.interop.torch_data import RelabeledStream
    from goalsets.policy import TrainedPolicy
    from goalsets.runs.config import TrainConfig

__version__ = "0.1.0"

_HOMES = {
    "Adapter": "goalsets.envs.adapter",
    "GoalSetEnv": "goalsets.envs.goalset_env",
    "RelabeledData": "goalsets.interop.batches",
    "RelabeledStream": "goalsets.interop.torch_data",
    "Store": "goalsets.data.store",
    "Task": "goalsets.envs.task",
    "TrainConfig": "goalsets.runs.config",
    "Trajectories": "goalsets.data.trajectories",
    "UsualTolerances": "goalsets.data.tolerances",
    "check_run": "goalsets.check.run",
    "compare_outcomes": "goalsets.evaluate.compare",
    "from_episodes": "goalsets.data",
    "make_goalset_env": "goalsets.envs.goalset_env",
    "make_question": "goalsets.check.questions",
    "write_store": "goalsets.data.writer",
}
"""Where public names are defined that are imported at their first use. They need libraries that
not all users have, or take a while to import."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'goalsets' has no attribute {name!r}")
    with needed_by(f"goalsets.{name}"):
        found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def load(run: str | Path, step: int | None = None) -> TrainedPolicy:
    """Load a trained policy.

    Args:
        run: A run directory, or a model that comes with goalsets: "demo" or "two-cubes".
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
    "Adapter",
    "Episode",
    "GoalSet",
    "GoalSetEnv",
    "GoalsetsError",
    "Group",
    "Query",
    "RelabeledData",
    "RelabeledStream",
    "StateLayout",
    "Store",
    "Task",
    "TrainConfig",
    "Trajectories",
    "UsualTolerances",
    "__version__",
    "check_run",
    "check_task",
    "compare_outcomes",
    "from_episodes",
    "load",
    "load_plugin",
    "make_goalset_env",
    "make_question",
    "read_layout",
    "write_layout",
    "write_store",
]
