"""Names of groups, from what a log calls its fields and coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from goalsets.core import Group, StateLayout, print_indices
from goalsets.core.group import RESERVED
from goalsets.data.flatten import FieldSpec

# A lone `_m` may mean many things; in brackets it is a unit.
_UNIT = re.compile(r"_(?P<unit>deg|rad|mm|cm)$|[\[(](?P<bracketed>deg|rad|mm|cm|m)[\])]$")


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
            indices = range(start + position, start + position + size)
            yield Group(name, indices, unit=_unit(text))
        start += field.size


def aliases(fields: Sequence[FieldSpec], made: Sequence[Group]) -> dict[str, str]:
    """The name of a field stands for all its coordinates, where each of them is a group."""
    found: dict[str, str] = {}
    taken = [group.name for group in made]
    start = 0
    for field in fields:
        name = _clean(field.name)
        if len(field.names) > 1 and field.name and name not in (*taken, *found):
            # By number: so it still holds when groups are renamed or joined.
            found[name] = print_indices(range(start, start + field.size))
        start += field.size
    return found


def for_part(layout: StateLayout, kind: str, indices: range) -> str:
    """The group's own name if it is about the whole group, else a new one after the first."""
    owners = [owner for owner in (layout.owners[index] for index in indices) if owner is not None]
    first = owners[0]
    if len(owners) == len(first.indices) and set(first.indices) == set(indices):
        return first.name
    return _unique(f"{first.name}_{kind.replace('-', '')}_{indices.start}", list(layout.by_name))


def _unit(text: str) -> str:
    """The unit that a name ends with, such as `elbow_deg` or `x [mm]`; empty if there is none."""
    found = _UNIT.search(text)
    return found["unit"] or found["bracketed"] if found else ""


def _clean(text: str) -> str:
    """Make a name of the query language out of any text."""
    name = re.sub(r"[^A-Za-z0-9_./]+", "_", text).strip("_") or "state"
    if not re.match(r"[A-Za-z_]", name):
        name = f"_{name}"
    return f"{name}_" if name in RESERVED else name


def _unique(name: str, taken: Sequence[str]) -> str:
    candidates = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)
