"""Layouts, queries and goal sets: every other package builds on them. Needs numpy only."""

from goalsets.core.episodes import Episode
from goalsets.core.errors import (
    GoalSetError,
    GoalsetsError,
    LayoutError,
    QueryError,
    UnknownNameError,
)
from goalsets.core.goalset import GoalSet, Violation
from goalsets.core.group import Group
from goalsets.core.layout import StateLayout
from goalsets.core.layout_file import (
    layout_from_dict,
    layout_to_dict,
    read_layout,
    write_layout,
)
from goalsets.core.query import Query
from goalsets.core.registry import Registry
from goalsets.core.term import Term, print_indices

__all__ = [
    "Episode",
    "GoalSet",
    "GoalSetError",
    "GoalsetsError",
    "Group",
    "LayoutError",
    "Query",
    "QueryError",
    "Registry",
    "StateLayout",
    "Term",
    "UnknownNameError",
    "Violation",
    "layout_from_dict",
    "layout_to_dict",
    "print_indices",
    "read_layout",
    "write_layout",
]
