"""Figures in the scene: bodies that move or stand still, ghosts, and tolerances as balls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from goalsets.core import Query
from goalsets.play.goal import Goal
from goalsets.play.grips import Grip
from goalsets.play.shapes import Body, Colour
from goalsets.play.world import Floats

OPEN: Colour = (245, 158, 11)
"""Colour of what is asked for and does not hold yet."""
MET: Colour = (34, 160, 80)
"""Colour of what is asked for and holds."""
_IGNORED: Colour = (92, 112, 148)
_ASKED_OPACITY, _IGNORED_OPACITY = 0.75, 0.24
_REACH_PIXELS, _REACH_CORNERS = 1.5, 64
"""Width of the lines of a tolerance ball, and segments of a circle."""
_HALO = 1.08
"""How much larger the ghost of an object is, so that it can be seen around the object."""


class Reach:
    """The tolerance of a position: a ball around it; in a maze, a circle.

    The ball is drawn as three circles, because a surface would hide the ghost inside it.
    """

    def __init__(self, scene: viser.SceneApi, pane: int, grip: Grip) -> None:
        self._grip = grip
        self._ball: Any = scene.add_line_segments(
            f"/reach/{pane}/{grip.name}",
            _circles(1 if grip.planar else 3),
            OPEN,
            thickness=_REACH_PIXELS,
            thickness_units="screen",
            visible=False,
        )
        self._last: tuple[Any, ...] = ()

    def draw(
        self, goal: Goal, query: Query, met: frozenset[str], offset: NDArray[np.float64]
    ) -> None:
        """Draw it around the goal's position if that is asked for, as large as the tolerance."""
        terms = {term.name: term for term in query.terms if term.whole}
        term = terms.get(self._grip.position)
        if term is None or not term.tolerance:
            self._ball.visible = False
            return
        place = self._grip.place(goal.state) + offset
        if self._grip.planar:
            place[2] = 0.05
        radius = term.tolerance / term.group.scale
        new = (*place, radius, term.name in met)
        self._ball.visible = True
        if new != self._last:
            self._last = new
            self._ball.position = place
            self._ball.scale = (radius, radius, 1.0 if self._grip.planar else radius)
            colours = np.empty(self._ball.points.shape, dtype=np.uint8)
            colours[:] = MET if term.name in met else OPEN
            self._ball.colors = colours


def _circles(count: int) -> NDArray[np.float32]:
    """Unit circles as segments `[N, 2, 3]`: the first lies flat, the others stand."""
    angles = np.linspace(0.0, 2 * np.pi, _REACH_CORNERS + 1)
    flat = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    circles = [np.roll(flat, turn, axis=1) for turn in range(count)]
    ends = [np.stack([circle[:-1], circle[1:]], axis=1) for circle in circles]
    return np.concatenate(ends).astype(np.float32)


class Figure:
    """Bodies as frames with meshes in them."""

    def __init__(
        self, scene: viser.SceneApi, root: str, bodies: Sequence[Body], *, ghost: bool
    ) -> None:
        self._bodies = bodies
        self._frames: list[Any] = []
        self._skins: list[list[Any]] = []
        self.buttons: list[tuple[int, Any]] = []
        for body in bodies:
            path = f"{root}/{body.index}"
            self._frames.append(scene.add_frame(path, show_axes=False))
            skins = []
            for index, mesh in enumerate([body.ghost()] if ghost else body.meshes):
                skin = scene.add_mesh_simple(
                    f"{path}/{index}",
                    mesh.vertices,
                    mesh.faces,
                    color=_IGNORED if ghost else mesh.colour,
                    opacity=_IGNORED_OPACITY if ghost else None,
                    scale=_HALO if ghost and body.small else 1.0,
                    cast_shadow=False,
                    receive_shadow=False,
                    flat_shading=len(mesh.faces) < 50,
                )
                skins.append(skin)
                if mesh.button is not None:
                    self.buttons.append((mesh.button, skin))
            self._skins.append(skins)
        self._last: list[NDArray[np.float64] | None] = [None] * len(bodies)

    def place(
        self,
        positions: NDArray[np.float64],
        quaternions: NDArray[np.float64],
        offset: NDArray[np.float64],
    ) -> None:
        """Put every body in its place; only those that moved are sent."""
        for number, (body, frame) in enumerate(zip(self._bodies, self._frames, strict=True)):
            at = np.concatenate([positions[body.index] + offset, quaternions[body.index]])
            last = self._last[number]
            if last is not None and np.allclose(at, last, atol=1e-5):
                continue
            self._last[number] = at
            frame.position, frame.wxyz = at[:3], at[3:]

    def paint(self, asked: frozenset[str], met: frozenset[str]) -> None:
        """Colour a ghost: which parts are asked for, and which of these hold."""
        for body, skins in zip(self._bodies, self._skins, strict=True):
            wanted = body.groups & asked
            colour = _IGNORED if not wanted else MET if wanted <= met else OPEN
            for skin in skins:
                skin.color = colour
                skin.opacity = _ASKED_OPACITY if wanted else _IGNORED_OPACITY


def light(scene: viser.SceneApi) -> None:
    """Light a scene from all sides."""
    scene.configure_default_lights(cast_shadow=False)
    # Without a GPU, shadows and reflections slow a browser down.
    scene.configure_environment_map(None)
    scene.add_light_ambient("/still/light", intensity=0.9)


def stand(
    scene: viser.SceneApi,
    bodies: Sequence[Body],
    model: Any,  # noqa: ANN401 - MuJoCo's
    name: str = "/still",
    offset: NDArray[np.float64] | float = 0.0,
) -> None:
    """Draw the bodies that do not move, each as `name` and its number; `offset` moves them all."""
    positions, quaternions = kinematics(model)
    for body in bodies:
        if body.moves:
            continue
        for index, mesh in enumerate(body.meshes):
            scene.add_mesh_simple(
                f"{name}/{body.index}/{index}",
                mesh.vertices,
                mesh.faces,
                color=mesh.colour,
                flat_shading=True,
                cast_shadow=False,
                receive_shadow=False,
                position=positions[body.index] + offset,
                wxyz=quaternions[body.index],
            )


def new_data(model: Any) -> Any:  # noqa: ANN401 - MuJoCo's
    """MuJoCo's data for a model, to compute where its bodies are."""
    import mujoco

    return mujoco.MjData(model)  # pyright: ignore[reportAttributeAccessIssue]


def kinematics(
    model: Any,  # noqa: ANN401 - MuJoCo's
    data: Any = None,  # noqa: ANN401
    pose: Floats | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions `[bodies, 3]` and quaternions `[bodies, 4]` of all bodies in a pose `[Q]`."""
    import mujoco

    data = new_data(model) if data is None else data
    if pose is not None:
        data.qpos[:] = pose
    mujoco.mj_kinematics(model, data)  # pyright: ignore[reportAttributeAccessIssue]
    return data.xpos, data.xquat
