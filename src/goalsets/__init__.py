"""goalsets: queryable robot goals."""

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

__version__ = "0.1.0"

__all__ = [
    "Episode",
    "GoalSet",
    "GoalsetsError",
    "Group",
    "Query",
    "StateLayout",
    "__version__",
    "read_layout",
    "write_layout",
]
