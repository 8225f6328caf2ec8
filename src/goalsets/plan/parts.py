"""Parts: the things that a plan moves, one after another.

A part consists of the groups of one object, or is a single group that belongs to no object. The
data shows which of three natures a part has. A *switch* is compared exactly and jumps from one
value to another. A *settling* part is moved and then rests, such as a cube or a drawer. A *roaming*
part hardly ever rests, such as the robot itself.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group, StateLayout
from goalsets.core.metrics import distance

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]

Nature = Literal["switch", "settling", "roaming"]

STILL = 0.1
"""A part rests if it changes by less than this many tolerances …"""
REST = 10
"""… in this many steps."""
_SETTLES, _SETTLES_ALONE = 0.3, 0.7
"""A settling part rests at least this share of the time: the first for groups with a kind, the
second for others. A gripper rests sometimes, a drawer most of the time."""
_LOOSE = 0.15
"""The tolerance of a group without one, in standard deviations of the data."""


@dataclass(frozen=True)
class Part:
    """Groups that change together."""

    name: str
    """A name for people."""
    groups: tuple[Group, ...]
    """The groups that describe it."""
    tolerances: tuple[float, ...]
    """The tolerance of each group, in observation units; 0 if it is compared exactly."""
    nature: Nature
    kind: str = ""
    """Parts of one kind are alike: what one can do, the others can do. Empty if it has none."""

    @functools.cached_property
    def columns(self) -> NDArray[np.intp]:
        """Its coordinates of the state."""
        return np.array([i for group in self.groups for i in group.indices], np.intp)

    @functools.cached_property
    def place(self) -> tuple[NDArray[np.intp], float] | None:
        """The coordinates of its position, and their tolerance; None if it has no position."""
        for group, tolerance in zip(self.groups, self.tolerances, strict=True):
            if group.metric == "euclidean" and len(group.indices) in (2, 3) and self.kind:
                return np.array(group.indices, np.intp), tolerance
        return None

    @property
    def question(self) -> str:
        """The query that asks for it."""
        return " & ".join(group.name for group in self.groups)

    def embed(self, states: Floats) -> Floats:
        """States `[..., D]` as points `[..., m]`; a distance of 1 is one tolerance of the part."""
        found: list[Floats] = []
        for group, tolerance in zip(self.groups, self.tolerances, strict=True):
            values = states[..., list(group.indices)]
            if group.metric == "exact":
                found.append(values)
                continue
            scale = tolerance
            if group.metric == "quaternion":  # q and -q are the same rotation: choose one
                largest = np.abs(values).argmax(-1)[..., None]
                values = values * np.sign(np.take_along_axis(values, largest, -1))
                scale = tolerance / 2  # the chord of unit quaternions is half the angle
            found.append((values / scale).astype(np.float32))
        return np.concatenate(found, -1)

    def apart(self, states: Floats, others: Floats) -> Floats:
        """The distance between states `[..., D]` in this part, in tolerances: `[...]`."""
        found: list[Floats] = []
        for group, tolerance in zip(self.groups, self.tolerances, strict=True):
            columns = list(group.indices)
            far = distance(group.metric, states[..., columns], others[..., columns])
            found.append(np.where(far > 0, np.inf, 0.0) if tolerance == 0 else far / tolerance)
        return np.stack(found, -1).max(-1).astype(np.float32)

    def only(self, names: Sequence[str]) -> Part | None:
        """The part with only some of its groups; None if it has none of them."""
        kept = [place for place, group in enumerate(self.groups) if group.name in names]
        if not kept:
            return None
        groups = tuple(self.groups[place] for place in kept)
        tolerances = tuple(self.tolerances[place] for place in kept)
        return Part(self.name, groups, tolerances, self.nature, self.kind)


def find_parts(layout: StateLayout, observations: Floats, offsets: Rows) -> tuple[Part, ...]:
    """Divide a layout into parts; data `[R, D]` shows which groups settle.

    Args:
        layout: The groups, their kinds and tolerances.
        observations: `[R, D]`, in observation units.
        offsets: `[E + 1]`, the rows at which episodes begin.
    """
    parts: list[Part] = []
    objects: dict[tuple[str, str], list[tuple[Group, float]]] = {}
    for group in layout.groups:
        tolerance = _tolerance(group, observations)
        alone = Part(group.name, (group,), (tolerance,), "roaming", group.kind)
        if group.metric == "exact":
            parts.append(Part(group.name, (group,), (0.0,), "switch", group.kind))
        elif not _settles(alone, observations, offsets):
            parts.append(alone)
        elif not group.kind:
            parts.append(Part(group.name, (group,), (tolerance,), "settling"))
        else:
            family = group.kind.partition("*")[0]
            objects.setdefault((family, group.object_name), []).append((group, tolerance))
    for (family, name), members in objects.items():
        groups = tuple(group for group, _ in members)
        tolerances = tuple(tolerance for _, tolerance in members)
        parts.append(Part(f"{family}{name}", groups, tolerances, "settling", f"{family}*"))
    return tuple(parts)


def _tolerance(group: Group, observations: Floats) -> float:
    if group.tolerance is not None:
        return group.tolerance
    deviations = observations[:, list(group.indices)].std(0)
    return _LOOSE * float(np.linalg.norm(deviations)) or 1.0


def _settles(part: Part, observations: Floats, offsets: Rows) -> bool:
    """Whether a part rests for a large share of the time."""
    points = part.embed(observations)
    moved = np.linalg.norm(points[REST:] - points[:-REST], axis=-1)
    # Ignore pairs of rows from different episodes.
    same = np.searchsorted(offsets, np.arange(len(points)), side="right")
    inside = same[REST:] == same[:-REST]
    wanted = _SETTLES if part.kind else _SETTLES_ALONE
    return bool(inside.any()) and float((moved[inside] < STILL).mean()) >= wanted
