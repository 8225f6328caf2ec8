"""Names for parts of groups, after the group that they begin in."""

from __future__ import annotations

from goalsets.core import StateLayout
from goalsets.core.field_names import unique


def for_part(layout: StateLayout, kind: str, indices: range) -> str:
    """The group's own name if it is about the whole group, else a new one after the first."""
    owners = [owner for owner in (layout.owners[index] for index in indices) if owner is not None]
    first = owners[0]
    if len(owners) == len(first.indices) and set(first.indices) == set(indices):
        return first.name
    return unique(f"{first.name}_{kind.replace('-', '')}_{indices.start}", list(layout.by_name))
