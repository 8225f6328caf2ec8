"""Names for parts of groups, made from the group in which they begin."""

from __future__ import annotations

from collections.abc import Sequence

from goalsets.core import Group, StateLayout, print_indices
from goalsets.core.field_names import clean, unique
from goalsets.data.flatten import FieldSpec


def aliases(fields: Sequence[FieldSpec], made: Sequence[Group]) -> dict[str, str]:
    """An alias for each field whose coordinates are groups of their own: it stands for them all."""
    found: dict[str, str] = {}
    taken = [group.name for group in made]
    start = 0
    for field in fields:
        name = clean(field.name)
        if len(field.names) > 1 and field.name and name not in (*taken, *found):
            # By number, so that the alias still works when groups are renamed or joined.
            found[name] = print_indices(range(start, start + field.size))
        start += field.size
    return found


def for_part(layout: StateLayout, kind: str, indices: range) -> str:
    """The group's own name if the part is the whole group; otherwise a new, unique name."""
    owners = [owner for owner in (layout.owners[index] for index in indices) if owner is not None]
    first = owners[0]
    if len(owners) == len(first.indices) and set(first.indices) == set(indices):
        return first.name
    return unique(f"{first.name}_{kind.replace('-', '')}_{indices.start}", list(layout.by_name))
