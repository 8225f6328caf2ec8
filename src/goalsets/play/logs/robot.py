"""The robot to draw: a MuJoCo model from MJCF or URDF, posed by recorded states."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.play.figures import kinematics, new_data
from goalsets.play.logs.joints import KINDS, Drive, Driven, Joint, map_joints, read_joints
from goalsets.play.logs.places import places_of
from goalsets.play.shapes import Body, bodies_of
from goalsets.play.world import Floats

_SUFFIXES = (".xml", ".mjcf", ".urdf")
_PACKAGE = "package://"
_COLLISIONS = 3
"""The group of geoms that are not drawn."""
_POSES = 30
"""States from which `carried` decides."""
_STILL = 0.01
"""How far, in metres, a position may move relative to the body that carries it."""
_LEAST = "1e-6"
"""Mass and inertia for links of a URDF that have none. Nothing is simulated, so any will do."""


class ModelError(GoalsetsError):
    """A model of a robot cannot be read; the message says why."""


@dataclass(frozen=True, eq=False)
class Robot:
    """A model, and how states move it."""

    path: Path
    model: Any
    """MuJoCo's."""
    driven: Driven
    rest: NDArray[np.float64]
    """`[Q]`, the positions of joints that no state moves."""
    followers: tuple[tuple[int, int, NDArray[np.float64]], ...]
    """Joints that the model ties to others: their address, the other's address, and the polynomial
    of the other's displacement."""
    bodies: tuple[Body, ...]
    """Its visible bodies, each with the groups of the layout that move it."""

    @classmethod
    def load(
        cls, path: Path, layout: StateLayout, states: Floats, joints: Sequence[str] = ()
    ) -> Robot:
        """Read a model, and find out which part of a state moves which joint.

        Args:
            path: MJCF (.xml) or URDF (.urdf).
            layout: The layout of the states.
            states: `[N, D]`, some recorded states.
            joints: Which part moves which joint, as in `--joints`; other joints are found by name.
        """
        model = _compile(path)
        driven = map_joints(_joints(model), layout, states, read_joints(joints))
        rest = np.array(model.key_qpos[0] if model.nkey else model.qpos0)
        robot = cls(path, model, driven, rest, _followers(model, driven), ())
        some = np.asarray(states[:: max(1, len(states) // _POSES)])
        bodies = _with_groups(
            model, bodies_of(model, layout), driven.drives, robot.carried(some, layout)
        )
        return dataclasses.replace(robot, bodies=tuple(bodies))

    def pose(self, state: Floats) -> Floats:
        """The positions of all joints `[Q]` in a state `[D]`."""
        pose = self.rest.copy()
        for drive in self.driven.drives:
            drive.put(state, pose)
        for address, other, polynomial in self.followers:
            moved = pose[other] - self.model.qpos0[other]
            pose[address] = self.model.qpos0[address] + np.polyval(polynomial[::-1], moved)
        return pose.astype(np.float32)

    def carried(self, states: Floats, layout: StateLayout) -> dict[str, int]:
        """The body that carries each place of the layout, if any, found in states `[N, D]`.

        A hand carries the gripper's place if that place does not move relative to the hand. Then
        the hand's ghost shows whether the place is asked for.
        """
        data, found = new_data(self.model), dict[str, int]()
        frames = []
        for state in states:
            kinematics(self.model, data, self.pose(state))
            frames.append((data.xpos.copy(), data.xmat.reshape(-1, 3, 3).copy()))
        for place in places_of(layout):
            seen = np.array(
                [
                    np.einsum("bji,bj->bi", turned, place.at(state) - at)
                    for state, (at, turned) in zip(states, frames, strict=True)
                ]
            )
            moved = seen.std(0).max(-1)  # [bodies]
            moved[0] = np.inf  # ignore the world, which carries whatever never moves
            if place.planar or not np.isfinite(moved).any():
                continue
            if moved.min() < _STILL:
                # Among bodies that are fixed to each other, take the nearest.
                near = np.flatnonzero(moved < moved.min() + 1e-4)
                away = np.linalg.norm(seen.mean(0)[near], axis=-1)
                found[place.name] = int(near[away.argmin()])
        return found

    def extent(self, states: Floats) -> list[NDArray[np.float64]]:
        """The corners of the box that it occupies in states `[N, D]`."""
        geoms = np.flatnonzero((self.model.geom_rbound > 0) & (self.model.geom_group < _COLLISIONS))
        data, corners = new_data(self.model), []
        for state in states if len(geoms) else ():
            kinematics(self.model, data, self.pose(state))
            reach = self.model.geom_rbound[geoms, None]
            corners.append((data.geom_xpos[geoms] - reach).min(0))
            corners.append((data.geom_xpos[geoms] + reach).max(0))
        return corners

    @property
    def notes(self) -> list[str]:
        """Notes on how it is drawn."""
        found = list(self.driven.notes)
        tied = {address for address, _, _ in self.followers}
        moved = {drive.joint.name for drive in self.driven.drives}
        still = [
            j.name for j in _joints(self.model) if j.name not in moved and j.address not in tied
        ]
        if still:
            found.append(
                f"no part of the state moves {', '.join(still)}: "
                f"{'it stays' if len(still) == 1 else 'they stay'} at rest. Name the parts with "
                "--joints."
            )
        return found


def _compile(path: Path) -> Any:  # noqa: ANN401 - MuJoCo's model
    import mujoco

    if path.suffix.lower() not in _SUFFIXES:
        raise ModelError(f"a model is MJCF (.xml) or URDF (.urdf), got {path}.")
    if not path.is_file():
        raise ModelError(f"there is no model {path}.")
    try:
        if path.suffix.lower() == ".urdf":
            return _from_urdf(path)
        return mujoco.MjModel.from_xml_path(str(path))  # pyright: ignore[reportAttributeAccessIssue]
    except (ValueError, OSError) as error:
        raise ModelError(f"MuJoCo cannot read the model {path}: {error}") from None


def _from_urdf(path: Path) -> Any:  # noqa: ANN401 - as above
    """A URDF with its visual shapes; if these cannot be read, with its collision shapes."""
    try:
        model = _urdf(path, visual=True)
    except ValueError:  # for example meshes in a format that MuJoCo does not read
        return _urdf(path, visual=False)
    for body in range(model.nbody):
        own = np.flatnonzero(model.geom_bodyid == body)
        seen = own[(model.geom_contype[own] == 0) & (model.geom_conaffinity[own] == 0)]
        if len(seen):
            model.geom_group[np.setdiff1d(own, seen)] = _COLLISIONS
    return model


def _urdf(path: Path, *, visual: bool) -> Any:  # noqa: ANN401 - as above
    import mujoco

    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ModelError(f"{path} is not valid XML: {error}.") from None
    settings = root.find("mujoco/compiler")
    if settings is None:
        own = root.find("mujoco")
        own = ElementTree.SubElement(root, "mujoco") if own is None else own
        settings = ElementTree.SubElement(own, "compiler")
    settings.attrib |= {
        "discardvisual": "false" if visual else "true",
        "strippath": "false",
        "fusestatic": "false",
        "boundmass": _LEAST,
        "boundinertia": _LEAST,
    }
    folder = path.parent / settings.attrib.pop("meshdir", "")
    for mesh in root.iter("mesh"):
        mesh.set("filename", str(_mesh(mesh.get("filename", ""), folder, path)))
    text = ElementTree.tostring(root, encoding="unicode")
    return mujoco.MjModel.from_xml_string(text)  # pyright: ignore[reportAttributeAccessIssue]


def _mesh(name: str, folder: Path, path: Path) -> Path:
    """The file of a mesh; `package://` is resolved below the nearest directory that has it."""
    if not name.startswith(_PACKAGE):
        return (folder / name.removeprefix("file://")).resolve()
    package, _, rest = name.removeprefix(_PACKAGE).partition("/")
    for parent in path.resolve().parents:
        for candidate in (parent / package / rest, parent / rest):
            if candidate.is_file():
                return candidate
    raise ModelError(f"{path} refers to {name}, which is in none of the directories above it.")


def _joints(model: Any) -> list[Joint]:  # noqa: ANN401 - as above
    found: list[Joint] = []
    for index in range(model.njnt):
        name, body = model.joint(index).name, int(model.jnt_bodyid[index])
        limits = None
        if model.jnt_limited[index]:
            low, high = (float(limit) for limit in model.jnt_range[index])
            limits = low, high
        found.append(
            Joint(
                name or f"joint {index}",
                model.body(body).name,
                KINDS[int(model.jnt_type[index])],
                int(model.jnt_qposadr[index]),
                limits,
            )
        )
    return found


def _followers(
    model: Any,  # noqa: ANN401 - as above
    driven: Driven,
) -> tuple[tuple[int, int, NDArray[np.float64]], ...]:
    """Joints that equalities of the model tie to others, and that the state does not move."""
    import mujoco

    equality: Any = mujoco.mjtEq.mjEQ_JOINT  # pyright: ignore[reportAttributeAccessIssue]
    moved = {drive.joint.address for drive in driven.drives}
    found = []
    for index in range(model.neq):
        one, other = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
        if model.eq_type[index] != equality or other < 0:
            continue
        address, leads = int(model.jnt_qposadr[one]), int(model.jnt_qposadr[other])
        polynomial = np.array(model.eq_data[index, :5], np.float64)
        if address in moved and leads not in moved and polynomial[1]:
            # The equality is given the other way round; a linear one can be inverted.
            address, leads = leads, address
            slope = 1.0 / polynomial[1]
            polynomial = np.array([-polynomial[0] * slope, slope, 0.0, 0.0, 0.0])
        if address not in moved:
            found.append((address, leads, polynomial))
    return tuple(found)


def _with_groups(
    model: Any,  # noqa: ANN401 - as above
    bodies: Sequence[Body],
    drives: Sequence[Drive],
    carried: Mapping[str, int],
) -> list[Body]:
    """Bodies with the groups that move their joints, or that are their positions.

    Other bodies take the groups of their parent.
    """
    own: dict[int, set[str]] = {}
    for drive in drives:
        index = int(model.jnt_bodyid[list(model.jnt_qposadr).index(drive.joint.address)])
        own.setdefault(index, set()).add(drive.group)
    for name, body in carried.items():
        own.setdefault(body, set()).add(name)
    shown: list[frozenset[str]] = []
    for index in range(model.nbody):  # parents come before their children
        parent = shown[int(model.body_parentid[index])] if index else frozenset[str]()
        shown.append(frozenset(own[index]) if index in own else parent)
    return [dataclasses.replace(body, groups=shown[body.index]) for body in bodies]
