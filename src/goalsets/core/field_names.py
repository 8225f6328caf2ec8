"""Names of groups, made from the names of fields and coordinates in a log or an environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from goalsets.core.flatten import FieldSpec
from goalsets.core.group import RESERVED, Group

# `_m` at the end of a name may mean many things; `[m]` is a unit.
_UNIT = re.compile(r"_(?P<unit>deg|rad|mm|cm)$|[\[(](?P<bracketed>deg|rad|mm|cm|m)[\])]$")


def groups(fields: Sequence[FieldSpec]) -> Iterator[Group]:
    """One group for each named coordinate; one for each field whose coordinates have no names."""
    taken: list[str] = []
    start = 0
    for field in fields:
        wanted = field.names or (field.name or "state",)
        size = 1 if field.names else field.size
        for position, text in enumerate(wanted):
            name = clean(text)
            if name in taken and field.names and field.name:
                name = clean(f"{field.name}.{text}")
            name = unique(name, taken)
            taken.append(name)
            indices = range(start + position, start + position + size)
            yield Group(name, indices, unit=_unit(text))
        start += field.size


def unique(name: str, taken: Sequence[str]) -> str:
    """The name, with a number added if it is taken."""
    candidates = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def clean(text: str) -> str:
    """Make a name of the query language out of any text."""
    name = re.sub(r"[^A-Za-z0-9_./]+", "_", text).strip("_") or "state"
    if not re.match(r"[A-Za-z_]", name):
        name = f"_{name}"
    return f"{name}_" if name in RESERVED else name


def _unit(text: str) -> str:
    """The unit that a name ends with, such as `elbow_deg` or `x [mm]`; empty if there is none."""
    found = _UNIT.search(text)
    return found["unit"] or found["bracketed"] if found else ""
