"""Names of groups, from what a log calls its fields and coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from goalsets.core import Group, StateLayout
from goalsets.core.group import RESERVED
from goalsets.data.flatten import FieldSpec


def groups(fields: Sequence[FieldSpec]) -> Iterator[Group]:
    """One group for each named coordinate, else one for each field."""
    taken: list[str] = []
    start = 0
    for field in fields:
        wanted = field.names or (field.name or "state",)
        size = 1 if field.names else field.size
        for position, text in enumerate(wanted):
            name = _clean(text)
            if name in taken and field.names and field.name:
                name = _clean(f"{field.name}.{text}")
            name = _unique(name, taken)
            taken.append(name)
            yield Group(name, range(start + position, start + position + size))
        start += field.size


def for_part(layout: StateLayout, kind: str, indices: range) -> str:
    """The group's own name if it is about the whole group, else a new one after the first."""
    owners = [owner for owner in (layout.owners[index] for index in indices) if owner is not None]
    first = owners[0]
    if len(owners) == len(first.indices) and set(first.indices) == set(indices):
        return first.name
    return _unique(f"{first.name}_{kind.replace('-', '')}_{indices.start}", list(layout.by_name))


def _clean(text: str) -> str:
    """Make a name of the query language out of any text."""
    name = re.sub(r"[^A-Za-z0-9_./]+", "_", text).strip("_") or "state"
    if not re.match(r"[A-Za-z_]", name):
        name = f"_{name}"
    return f"{name}_" if name in RESERVED else name


def _unique(name: str, taken: Sequence[str]) -> str:
    candidates = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)
