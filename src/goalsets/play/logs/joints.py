"""Decide which part of a state moves which joint of a model: by name, or as given.

Names are compared without words such as `joint` and `pos`: `shoulder_pan.pos` moves
`shoulder_pan_joint`. If a name is ambiguous, a note asks the user to decide.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from goalsets.core import GoalsetsError, Group, StateLayout
from goalsets.core.door import read_yaml
from goalsets.core.errors import suggest
from goalsets.core.metrics import UNITS
from goalsets.evaluate.conditions import describe_coordinate, find_coordinates
from goalsets.play.world import Floats

JointKind = Literal["free", "ball", "slide", "hinge"]
KINDS: tuple[JointKind, ...] = ("free", "ball", "slide", "hinge")
"""In MuJoCo's order."""
Part = Literal["number", "angle", "position", "quaternion"]

_EMPTY_WORDS = {
    *("joint", "joints", "jnt", "state", "observation", "obs"),
    *("pos", "position", "positions", "qpos", "q", "angle", "angles"),
    *("quat", "quaternion", "orientation", "rot", "rotation"),
}
_DEGREES = 3 * math.pi
"""Numbers without a unit above this are taken as degrees, not radians."""
_MAPPING_FILES = (".yaml", ".yml", ".json")


class JointError(GoalsetsError):
    """A model and a layout do not match; the message says where."""


@dataclass(frozen=True)
class Joint:
    """A joint of a model."""

    name: str
    body: str
    """The body that it moves."""
    kind: JointKind
    address: int
    """The index of its first number in a pose."""
    limits: tuple[float, float] | None


@dataclass(frozen=True)
class Drive:
    """Part of a state that moves a joint."""

    joint: Joint
    source: str
    """The part of the state, as people name it."""
    group: str
    """The group that it belongs to."""
    indices: tuple[int, ...]
    part: Part
    factor: float = 1.0
    """Radians or metres per observation unit."""

    def put(self, state: Floats, pose: np.ndarray) -> None:
        """Write this part of a state `[D]` into a pose `[Q]`."""
        values = np.asarray(state, np.float64)[list(self.indices)]
        at = self.joint.address
        if self.part == "angle":
            pose[at] = math.atan2(values[1], values[0])
        elif self.part == "quaternion":
            start = at + 3 if self.joint.kind == "free" else at
            pose[start : start + 4] = values / max(float(np.linalg.norm(values)), 1e-9)
        else:
            pose[at : at + len(values)] = values * self.factor


@dataclass(frozen=True)
class Driven:
    """How states move a model, with notes for the user."""

    drives: tuple[Drive, ...]
    notes: tuple[str, ...]


def map_joints(
    joints: Sequence[Joint], layout: StateLayout, states: Floats, given: Mapping[str, str]
) -> Driven:
    """Find the part of the state that moves each joint.

    Args:
        joints: The joints of the model.
        layout: The layout of the states.
        states: Some states `[N, D]`: their range tells degrees from radians.
        given: Joints by parts of the state, as the user gave them; they override names.
    """
    by_name = {joint.name: joint for joint in joints}
    span = _span(states)
    notes: list[str] = []
    drives: list[Drive] = []
    for source, name in given.items():
        if name not in by_name:
            raise JointError(
                f"the model has no joint {name!r}, which {source!r} should move: "
                f"{suggest(name, by_name)}"
            )
        drives.append(_drive(by_name[name], source, layout, span, notes))
    said = {drive.joint.name for drive in drives}
    for joint in joints:
        if joint.name not in said:
            drives += _by_name(joint, layout, span, notes, given)
    if not drives:
        raise JointError(
            "no part of the state has the name of a joint of the model.\n"
            f"joints: {', '.join(_of_kind(joint) for joint in joints) or 'none'}\n"
            f"state:  {', '.join(_parts(layout))}\n"
            "Say which belong together, such as --joints "
            f"{next(_parts(layout), '[0]')}={joints[0].name if joints else 'JOINT'}"
        )
    return Driven(tuple(drives), tuple(notes))


def read_joints(words: Sequence[str]) -> dict[str, str]:
    """Read `--joints`: `shoulder=shoulder_pan_joint,elbow=elbow_joint`, or a file.

    In a YAML or JSON file, a group of several coordinates may have a list of joints.
    """
    found: dict[str, str] = {}
    for word in words:
        if word.endswith(_MAPPING_FILES):
            found |= _from_file(Path(word))
            continue
        for pair in word.split(","):
            source, equals, joint = (piece.strip() for piece in pair.partition("="))
            if not (source and equals and joint):
                raise JointError(
                    "--joints takes pairs such as shoulder=shoulder_pan_joint,arm.1=elbow_joint, "
                    f"or a YAML or JSON file of them; got {pair.strip()!r}."
                )
            found[source] = joint
    return found


def _from_file(path: Path) -> dict[str, str]:
    plain: Any = read_yaml(path, what="the joints", kind=JointError)  # which reads JSON, too
    if not isinstance(plain, dict):
        raise JointError(f"{path}: expected a mapping from parts of the state to joints.")
    found: dict[str, str] = {}
    for source, joint in plain.items():
        if isinstance(joint, list):
            found |= {f"{source}.{number}": str(name) for number, name in enumerate(joint)}
        else:
            found[str(source)] = str(joint)
    return found


def _by_name(
    joint: Joint, layout: StateLayout, span: Floats, notes: list[str], given: Mapping[str, str]
) -> list[Drive]:
    """The part of the state with the name of a joint, or of the free body that it moves."""
    names = [joint.name, joint.body] if joint.kind in ("free", "ball") else [joint.name]
    wanted = {_bare(name) for name in names} - {""}
    fitting: dict[Part, list[Group]] = {}
    for group in layout.groups:
        part = _part_for(joint, group)
        if part is None or group.name in given:
            continue
        if group.name in names:
            return [_drive(joint, group.name, layout, span, notes)]
        if _bare(group.name) in wanted:
            fitting.setdefault(part, []).append(group)
    found: list[Drive] = []
    for groups in fitting.values():
        if len(groups) == 1:
            found.append(_drive(joint, groups[0].name, layout, span, notes))
        else:
            either = " or ".join(group.name for group in groups)
            notes.append(f"{joint.name} could be moved by {either}: say which with --joints.")
    return found


def _drive(joint: Joint, source: str, layout: StateLayout, span: Floats, notes: list[str]) -> Drive:
    """Let a part of the state move a joint, or raise an error that says why it cannot."""
    group, indices = find_coordinates(source, layout)
    whole = len(indices) == len(group.indices)
    part = _part_for(joint, group) if whole else _number_for(joint)
    if part is None:
        wants = {"free": "3 (a place) or 4 (a quaternion)", "ball": "4 (a quaternion)"}
        raise JointError(
            f"{source!r} cannot move {joint.name!r}, a {joint.kind} joint: it has {len(indices)} "
            f"coordinates of metric {group.metric}, and {wants.get(joint.kind, '1')} are needed. "
            f"Name one of several with {group.name}.0, {group.name}.1, …"
        )
    factor = 1.0
    if part in ("number", "position"):
        factor = _factor(joint, source, group, float(span[list(indices)].max()), notes)
        _check_limits(joint, source, float(span[indices[0]]) * factor, notes)
    return Drive(joint, source, group.name, tuple(indices), part, factor)


def _part_for(joint: Joint, group: Group) -> Part | None:
    count = len(group.indices)
    if joint.kind in ("hinge", "slide"):
        if group.metric == "angle":
            return "angle" if joint.kind == "hinge" else None
        return "number" if count == 1 else None
    if count == 4 and group.metric in ("quaternion", "euclidean"):
        return "quaternion"
    return "position" if count == 3 and joint.kind == "free" else None


def _number_for(joint: Joint) -> Part | None:
    return "number" if joint.kind in ("hinge", "slide") else None


def _factor(joint: Joint, source: str, group: Group, highest: float, notes: list[str]) -> float:
    """Radians or metres per observation unit of a group."""
    base = "rad" if joint.kind == "hinge" else "m"
    if not group.unit:
        if base == "rad" and highest > _DEGREES:
            notes.append(
                f"{source} has no unit, and reaches {highest:.4g}: it was taken as degrees. If it "
                "is something else, give it a unit in the layout."
            )
            return math.pi / 180.0
        return 1.0
    if group.unit not in UNITS or UNITS[group.unit][0] != base:
        raise JointError(
            f"{source!r} is measured in {group.unit!r}: it cannot move {joint.name!r}, a "
            f"{joint.kind} joint, which takes {'angles' if base == 'rad' else 'lengths'}."
        )
    return UNITS[group.unit][1] / group.scale


def _check_limits(joint: Joint, source: str, highest: float, notes: list[str]) -> None:
    if joint.limits is None or joint.kind not in ("hinge", "slide"):
        return
    most = max(abs(limit) for limit in joint.limits)
    if highest > 1.5 * most + 1e-3:
        unit = "rad" if joint.kind == "hinge" else "m"
        notes.append(
            f"{source} reaches {highest:.3g} {unit}, far beyond the limits of {joint.name}, "
            f"{joint.limits[0]:.3g} to {joint.limits[1]:.3g}: is its unit right in the layout?"
        )


def _span(states: Floats) -> Floats:
    """The largest absolute value `[D]` of each coordinate, over a sample of states."""
    some = np.abs(np.asarray(states[:: max(1, len(states) // 10_000)], np.float32))
    return np.where(np.isfinite(some), some, 0).max(0)


def _bare(name: str) -> str:
    """A name in lower case, without punctuation and words such as `joint`."""
    words = re.findall(r"[a-z]+|\d+", name.lower())
    return " ".join(word for word in words if word not in _EMPTY_WORDS)


def _of_kind(joint: Joint) -> str:
    return joint.name if joint.kind == "hinge" else f"{joint.name} ({joint.kind})"


def _parts(layout: StateLayout) -> Iterator[str]:
    """The parts of a state that have names: groups, and coordinates of larger groups."""
    for group in layout.groups:
        if len(group.indices) == 1 or group.metric in ("angle", "quaternion"):
            yield group.name
        else:
            yield from (describe_coordinate(index, layout) for index in group.indices)
    for index, owner in enumerate(layout.owners):
        if owner is None:
            yield f"[{index}]"
