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
from goalsets.core.plugins import load_plugin

if TYPE_CHECKING:
    from pathlib import Path

    from goalsets.policy import TrainedPolicy

__version__ = "0.1.0"


def load(run: str | Path, step: int | None = None) -> TrainedPolicy:
    """Load a trained policy.

    Args:
        run: A run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
    """
    from goalsets.runs.run import load  # torch is imported only by those who need it

    return load(run, step)


__all__ = [
    "Episode",
    "GoalSet",
    "GoalsetsError",
    "Group",
    "Query",
    "StateLayout",
    "__version__",
    "load",
    "load_plugin",
    "read_layout",
    "write_layout",
]
