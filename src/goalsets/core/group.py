"""Group: a named part of the state, its metric, and the units of its tolerance."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from goalsets.core import grammar
from goalsets.core.errors import LayoutError, QueryError, suggest
from goalsets.core.metrics import METRICS, UNITS, Metric, arc, chord

RESERVED = ("all", "task", "none")
_COORDINATES = {"angle": 2, "quaternion": 4}


@dataclass(frozen=True)
class Group:
    """A named part of the state, compared as one thing."""

    name: str
    """The word used in queries."""
    indices: Sequence[int]
    """Which coordinates of the state belong to it."""
    metric: Metric = "euclidean"
    """How its distance is measured: see `goalsets.core.metrics`."""
    unit: str = ""
    """The physical unit, if there is one: `m`, `rad`, `rad/s`, …"""
    scale: float = 1.0
    """Observation units per physical unit: 10 where an observation counts decimetres."""
    tolerance: float | None = None
    """Default tolerance in observation units; None if only the user can know it."""
    description: str = ""
    """A description for people."""
    kind: str = field(default="", compare=False)
    """A pattern with one `*`, such as `block*_pos`. The star stands for the object. Groups of one
    kind describe different objects in the same way. It changes no query's meaning."""
    relative_to: str = field(default="", compare=False)
    """A group in the same space, such as `eff_pos`. Networks then also see this group's values
    relative to that one. It changes no query's meaning."""

    def __post_init__(self) -> None:
        """Check everything, and store the indices as a tuple."""
        object.__setattr__(self, "indices", tuple(int(i) for i in self.indices))
        self._check_indices()
        self._check_name()
        if self.kind:
            self._check_kind()
        if self.metric == "exact" and self.tolerance is None:
            object.__setattr__(self, "tolerance", 0.0)
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise LayoutError(f"group {self.name!r}: scale must be above 0, got {self.scale}.")
        if self.tolerance is not None:
            self.check_tolerance(self.tolerance)

    @classmethod
    def loose(cls, index: int) -> Group:
        """A coordinate that belongs to no group, as a group of its own called `[index]`."""
        return cls(f"[{index}]", (index,), "absolute")

    def _check_name(self) -> None:
        if self.name == f"[{self.indices[0]}]" and len(self.indices) == 1:
            return  # a loose coordinate: brackets keep it apart from the names of a layout
        if not re.fullmatch(grammar.NAME_PATTERN, self.name):
            raise LayoutError(
                f"{self.name!r} cannot be the name of a group: expected a letter or '_' followed "
                "by letters, digits, '_', '.' or '/'."
            )
        if self.name in RESERVED:
            raise LayoutError(f"{self.name!r} is a word of the query language, not a group name.")

    def _check_kind(self) -> None:
        before, star, after = self.kind.partition("*")
        fits = self.name.startswith(before) and self.name.endswith(after)
        if not star or "*" in after or not fits or not self.object_name:
            raise LayoutError(
                f"group {self.name!r}: its kind must be its name with one '*' in place of the "
                f"object, such as 'block*_pos' for 'block0_pos'; got {self.kind!r}."
            )

    @property
    def object_name(self) -> str:
        """The part of the name that the star of its kind replaces; empty without a kind."""
        before, _, after = self.kind.partition("*")
        return self.name[len(before) : len(self.name) - len(after)] if self.kind else ""

    def _check_indices(self) -> None:
        if self.metric not in METRICS:
            raise LayoutError(
                f"group {self.name!r}: unknown metric {self.metric!r}, "
                f"{suggest(str(self.metric), METRICS)}"
            )
        count = len(self.indices)
        if count == 0:
            raise LayoutError(f"group {self.name!r} has no coordinates.")
        if len(set(self.indices)) != count:
            raise LayoutError(f"group {self.name!r} names a coordinate twice: {self.indices}.")
        wanted = _COORDINATES.get(self.metric, count)
        if count != wanted:
            raise LayoutError(
                f"group {self.name!r}: metric {self.metric!r} needs {wanted} coordinates, "
                f"got {count}."
            )

    def check_tolerance(self, value: float) -> float:
        """Return `value` if it can be this group's tolerance, in observation units."""
        if not (math.isfinite(value) and value >= 0):
            raise LayoutError(f"the tolerance of {self.name!r} must be 0 or more, got {value}.")
        if self.metric == "exact" and value != 0:
            raise LayoutError(f"{self.name!r} is compared exactly: it takes no tolerance.")
        return value

    def tolerance_from(self, value: float, unit: str = "") -> float:
        """Convert a tolerance that the user typed into observation units.

        Args:
            value: The number.
            unit: Empty for observation units, or one of `goalsets.core.metrics.UNITS`.
        """
        if unit:
            factor = in_units(unit, self.natural_unit, self.name)
            # A negative angle has a positive chord, so the sign is checked before converting.
            self.check_tolerance(value)
            value = value * factor
            value = chord(value) if self.metric == "angle" else value * self.scale
        return self.check_tolerance(value)

    def with_tolerance(self, value: float | str) -> Group:
        """Return this group with another default tolerance, such as 0.4 or "20deg"."""
        return dataclasses.replace(self, tolerance=self.read_tolerance(value))

    def read_tolerance(self, value: float | str) -> float:
        """Read a tolerance: a number in observation units, or text such as "20deg"."""
        if not isinstance(value, str):
            return self.tolerance_from(float(value))
        try:
            number, unit = grammar.parse_tolerance(value)
        except QueryError:
            raise LayoutError(
                f"the tolerance of {self.name!r} must look like 0.4 or 20deg, got {value!r}."
            ) from None
        return self.tolerance_from(number, unit)

    @property
    def natural_unit(self) -> str:
        """The unit that people use for this group's distance; may be empty."""
        return "rad" if self.metric in _COORDINATES else self.unit

    def in_natural_unit(self, distance: float) -> float:
        """Convert a distance from observation units into the natural unit."""
        if self.metric == "angle":
            return arc(distance)
        return distance / self.scale

    def say(self, distance: float) -> str:
        """A distance as text in centimetres or degrees; empty if the group has no unit."""
        amount = self.in_natural_unit(distance)
        if self.natural_unit == "rad":
            return f"{math.degrees(amount):.4g} deg"
        if self.natural_unit == "m":
            return f"{100 * amount:.4g} cm"
        return f"{amount:.4g} {self.natural_unit}" if self.natural_unit else ""


def in_units(unit: str, own: str, name: str) -> float:
    """The size of one unit in the group's own unit: 0.0174… for degrees in radians.

    Args:
        unit: The unit that the user typed.
        own: The unit of the group; empty if it has none.
        name: The group, for messages.
    """
    if unit not in UNITS:
        raise LayoutError(f"unknown unit {unit!r}: {suggest(unit, UNITS)}")
    base, factor = UNITS[unit]
    own_base, own_factor = UNITS.get(own, (own, 1.0))
    if base != own_base:
        measured = own or "observation units only"
        hint = "" if own else f" (its layout may say unit: {unit})"
        raise LayoutError(f"{name!r} is measured in {measured}: it cannot take {unit!r}{hint}.")
    return factor / own_factor
