"""Conditions on states, as people type them: `block0_pos.z >= 0.6 & 0 <= eff_pos.x < 12cm`.

condition  := clause ("&" clause)*
clause     := coordinate relation number | number relation coordinate [relation number]
coordinate := group ["." part] | "[" index "]"
part       := x, y, z; cos, sin of an angle; w, x, y, z of a quaternion; or a count from 0
relation   := "<" | "<=" | ">" | ">="
number     := as in a tolerance: 0.6 in observation units, 6cm in the group's physical unit
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Group, LayoutError, QueryError, StateLayout, grammar
from goalsets.core.errors import suggest
from goalsets.core.group import in_units

_PARTS = {"angle": ("cos", "sin"), "quaternion": ("w", "x", "y", "z")}
_SPACE = ("x", "y", "z")
_RELATIONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RELATION = re.compile(r"(<=|>=|<|>)")


class ConditionError(GoalsetsError):
    """A condition cannot be read, or names a coordinate that the layout does not have."""


@dataclass(frozen=True)
class Bound:
    """One coordinate on one side of a number."""

    index: int
    relation: str
    value: float
    """In observation units."""


@dataclass(frozen=True)
class Condition:
    """Bounds that must all hold."""

    text: str
    bounds: tuple[Bound, ...]

    @classmethod
    def parse(cls, text: str, layout: StateLayout) -> Condition:
        """Read a condition such as `"0.1 <= block0_pos.z <= 0.35"` under a layout."""
        bounds: list[Bound] = []
        for clause in text.split("&"):
            bounds += _clause(clause.strip(), layout)
        return cls(text, tuple(bounds))

    @property
    def indices(self) -> tuple[int, ...]:
        """The coordinates in the condition, in order."""
        return tuple(sorted({bound.index for bound in self.bounds}))

    def holds(self, states: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Tell for states `[..., D]` whether all bounds hold: `bool[...]`."""
        held = np.ones(states.shape[:-1], dtype=np.bool_)
        for bound in self.bounds:
            held &= _RELATIONS[bound.relation](states[..., bound.index], bound.value)
        return held


def find_coordinates(text: str, layout: StateLayout) -> tuple[Group, tuple[int, ...]]:
    """The group and the coordinates that `group`, `group.z` or `[21]` names."""
    text = text.strip()
    if text in layout.by_name:
        group = layout.by_name[text]
        return group, tuple(group.indices)
    index = re.fullmatch(r"\[(\d{1,9})\]", text)  # Python reads no number of thousands of digits
    if index is not None:
        number = int(index[1])
        if number >= layout.dim:
            raise ConditionError(
                f"index {number} is out of bounds: this state has coordinates 0 to "
                f"{layout.dim - 1}."
            )
        return layout.owners[number] or Group.loose(number), (number,)
    name, dot, part = text.rpartition(".")
    if not dot or name not in layout.by_name:
        raise ConditionError(
            f"unknown group {(name or part)!r}: {suggest(name or part, layout.by_name)}"
        )
    group = layout.by_name[name]
    parts = part_names(group)
    if part.isdecimal() and len(part) < 10 and int(part) < len(parts):
        return group, (group.indices[int(part)],)
    if part not in parts:
        raise ConditionError(f"{name!r} has no part {part!r}; it has: {', '.join(parts)}.")
    return group, (group.indices[parts.index(part)],)


def part_names(group: Group) -> tuple[str, ...]:
    """The names of the coordinates of a group, in order."""
    count = len(group.indices)
    names = _PARTS.get(group.metric, _SPACE if 1 < count <= 3 else ())
    return names[:count] if names else tuple(str(i) for i in range(count))


def describe_coordinate(index: int, layout: StateLayout) -> str:
    """The name of a coordinate, as `find_coordinates` reads it: `block0_pos.z`."""
    group = layout.owners[index]
    if group is None:
        return f"[{index}]"
    if len(group.indices) == 1:
        return group.name
    return f"{group.name}.{part_names(group)[list(group.indices).index(index)]}"


def read_number(text: str, group: Group) -> float:
    """Read a coordinate of a group: `0.6` in observation units, `6cm` in its physical unit."""
    try:
        value, unit = grammar.parse_tolerance(text.strip())
    except QueryError:
        raise ConditionError(
            f"expected a number such as 0.6 or 6cm for {group.name!r}, got {text.strip()!r}."
        ) from None
    if not math.isfinite(value):
        raise ConditionError(f"expected a finite number for {group.name!r}, got {text.strip()!r}.")
    return value * unit_factor(unit, group)


def unit_factor(unit: str, group: Group) -> float:
    """Observation units per physical unit; 1 if no unit is given."""
    if not unit:
        return 1.0
    own = "" if group.metric in _PARTS else group.unit
    try:
        return in_units(unit, own, group.name) * group.scale
    except LayoutError as error:
        raise ConditionError(str(error)) from None


def _clause(clause: str, layout: StateLayout) -> list[Bound]:
    pieces = [piece.strip() for piece in _RELATION.split(clause)]
    if len(pieces) == 3 and re.match(r"[A-Za-z_\[]", pieces[0]):
        return [_bound(pieces[0], pieces[1], pieces[2], layout)]
    if len(pieces) == 3:
        return [_bound(pieces[2], _MIRRORED[pieces[1]], pieces[0], layout)]
    if len(pieces) == 5:
        return [
            _bound(pieces[2], _MIRRORED[pieces[1]], pieces[0], layout),
            _bound(pieces[2], pieces[3], pieces[4], layout),
        ]
    raise ConditionError(
        f"expected a condition such as 'block0_pos.z >= 0.6' or '0.1 <= block0_pos.z <= 0.35', "
        f"got {clause!r}."
    )


def _bound(coordinate: str, relation: str, number: str, layout: StateLayout) -> Bound:
    group, indices = find_coordinates(coordinate, layout)
    if len(indices) != 1:
        raise ConditionError(
            f"{coordinate!r} has {len(indices)} coordinates; a condition needs one: "
            + " or ".join(f"{coordinate}.{part}" for part in part_names(group))
            + "."
        )
    return Bound(indices[0], relation, read_number(number, group))
