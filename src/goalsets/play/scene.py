"""The scene of MuJoCo's worlds in 3D: the live robot, and the goal as a ghost.

What does not move is sent once for all tabs; what moves belongs to one tab. Parts of the ghost that
the question asks for are amber until they hold, and then green. All other parts are almost
invisible.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from goalsets.core import Query, StateLayout
from goalsets.play.figures import Figure, Reach, kinematics, light, new_data, stand
from goalsets.play.goal import Goal
from goalsets.play.handles import Drag, Handle
from goalsets.play.setup import Setup
from goalsets.play.shapes import bodies_of
from goalsets.play.world import Floats, Frame

_ARM_HANDLE, _MAZE_HANDLE = 0.1, 2.5
"""Lengths of a handle's arrows, in metres."""
_FOV = math.radians(45)
_GRID = (("fine", 0.1, 0.002, (205, 209, 214)), ("coarse", 0.5, 0.005, (180, 186, 194)))
"""Lines on the table: metres between them, their width, and their colour."""
_GRID_HALF = 1.5
_PANE_GAP = 1.15
_ARM_WIDTH = 0.9
"""Metres between two arms side by side."""


def camera_of(panes: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The camera in front of arms: its target, its position, and its field of view."""
    if panes == 1:
        look = np.array([0.25, 0.0, 0.24])
        return look, look + np.array([1.35, 0.75, 0.62]), _FOV
    # From straight ahead, so that no arm hides another, and between the page's panels.
    look = np.array([0.25, 0.0, 0.28])
    return look, look + np.array([2.4, 0.0, 0.9]), _FOV


class Stagehand:
    """Knows a task's shapes, and builds what all tabs of a server see.

    Args:
        setup: What is played.
    """

    def __init__(self, setup: Setup) -> None:
        """Convert the model's geometry, once."""
        physics = setup.shelf.poser.world.physics
        assert physics is not None
        self.setup = setup
        self.model: Any = physics[0]
        self.bodies = bodies_of(self.model, setup.task.layout, setup.task.scene.shows)
        self.centre, self.size = self._extent()

    @property
    def offsets(self) -> list[NDArray[np.float64]]:
        """The origin of each checkpoint's pane: side by side, from left to right."""
        view = self.setup.task.scene.view
        apart = _PANE_GAP * {"maze": -self.size, "table": _ARM_WIDTH, "free": self.size}[view]
        count = len(self.setup.checkpoints)
        return [np.array([0.0, apart * (i - (count - 1) / 2), 0.0]) for i in range(count)]

    @property
    def title_place(self) -> NDArray[np.float64]:
        """The place of a pane's title: above an arm, or over a maze's far wall."""
        if self.setup.task.scene.view == "free":
            return self.centre + np.array([0.0, 0.0, self.size / 2])
        if not self._maze:
            return np.array([0.0, 0.0, 0.9])
        return self.centre + np.array([self.size / 2, 0.0, 4.0])

    @property
    def _maze(self) -> bool:
        return self.setup.task.scene.view == "maze"

    def build(self, server: viser.ViserServer) -> None:
        """Add to the scene of all tabs what does not move, and place the camera."""
        light(server.scene)
        for number, offset in enumerate(self.offsets):
            stand(server.scene, self.bodies, self.model, f"/still/{number}", offset)
        if self.setup.task.scene.view == "table":
            _draw_grid(server.scene)
        self._place_camera(server)

    def _place_camera(self, server: viser.ViserServer) -> None:
        panes = len(self.setup.checkpoints)
        camera = server.initial_camera
        if self._maze:
            away = self.size * (1.35 if panes == 1 else 3.2)
            camera.position = tuple(self.centre + np.array([-0.42, 0.0, 0.91]) * away)
            camera.look_at = tuple(self.centre)
        elif self.setup.task.scene.view == "free":
            away = self.size * (1.2 if panes == 1 else 2.4)
            camera.position = tuple(self.centre + np.array([0.8, 0.4, 0.5]) * away)
            camera.look_at = tuple(self.centre)
        else:
            look, position, _ = camera_of(panes)
            camera.position, camera.look_at = tuple(position), tuple(look)
        camera.fov = _FOV

    def _extent(self) -> tuple[NDArray[np.float64], float]:
        """The middle and the length of a maze's walls; otherwise those of the model."""
        if self.setup.task.scene.view == "free":
            return np.array(self.model.stat.center), 2 * float(self.model.stat.extent)
        walls = [g for g in range(self.model.ngeom) if self.model.geom(g).name.startswith("block_")]
        if not walls:
            return np.zeros(3), 1.0
        places = self.model.geom_pos[walls]
        low, high = places.min(axis=0), places.max(axis=0)
        centre = (low + high) / 2
        return np.array([centre[0], centre[1], 0.0]), float((high - low)[:2].max()) + 4.0


class BodyScene:
    """One pane of one tab: what moves, and the ghost.

    Args:
        client: The tab.
        hand: Has the shapes.
        pane: The number of the pane.
        drag: Called when something is dragged; only the first pane has handles.
    """

    def __init__(
        self, client: viser.ClientHandle, hand: Stagehand, pane: int, drag: Drag | None
    ) -> None:
        """Send the shapes."""
        self._hand = hand
        self._layout: StateLayout = hand.setup.task.layout
        self._offset = hand.offsets[pane]
        self._data = new_data(hand.model)
        moving = [body for body in hand.bodies if body.moves]
        shown = [body for body in moving if body.groups]
        self._live = Figure(client.scene, f"/live/{pane}", moving, ghost=False)
        self._ghost = Figure(client.scene, f"/ghost/{pane}", shown, ghost=True)
        self._colours = hand.setup.task.scene.buttons
        self._pose: Floats | None = None
        self._handled: Floats | None = None
        self._looks: tuple[Query, frozenset[str]] | None = None
        self._handles: list[Handle] = []
        if drag is not None:
            self._handles = [
                Handle(
                    client.scene,
                    grip,
                    self._offset,
                    drag,
                    size=_MAZE_HANDLE if grip.planar else _ARM_HANDLE,
                )
                for grip in hand.setup.shelf.grips
            ]
        self._reach = [Reach(client.scene, pane, grip) for grip in hand.setup.shelf.grips]
        if len(hand.offsets) > 1:
            self._label(client.scene, pane)

    def show(self, frame: Frame) -> None:
        """Draw a moment."""
        self._live.place(*kinematics(self._hand.model, self._data, frame.pose), self._offset)
        self._paint_buttons(self._live, frame.observation)

    def ghost(self, goal: Goal, query: Query, met: frozenset[str], handled: Floats) -> None:
        """Draw a goal; colours show what is asked for, and what holds.

        Args:
            goal: The goal to draw.
            query: The part of it that is asked for.
            met: The requirements that hold.
            handled: `[D]`, the state that handles change. It differs from the goal when a step of a
                plan is drawn.
        """
        if self._handled is None or not np.array_equal(self._handled, handled):
            self._handled = handled.copy()
            for handle in self._handles:
                handle.put(handled)
        if self._looks != (query, met):
            self._ghost.paint(frozenset(term.name for term in query.terms), met)
            self._looks = query, met
        for reach in self._reach:
            reach.draw(goal, query, met, self._offset)
        if self._pose is not None and np.array_equal(self._pose, goal.state):
            return
        self._pose = goal.state.copy()
        pose = self._hand.setup.shelf.poser.pose(goal.state)
        self._ghost.place(*kinematics(self._hand.model, self._data, pose), self._offset)

    def offer(self, name: str | None) -> None:
        """Show the handle of one thing, or of none."""
        for handle in self._handles:
            handle.show(handle.grip.name == name)

    def _label(self, scene: viser.SceneApi, pane: int) -> None:
        name = self._hand.setup.checkpoints[pane].name
        scene.add_label(f"/label/{pane}", name, position=self._hand.title_place + self._offset)

    def _paint_buttons(self, figure: Figure, state: Floats) -> None:
        if self._colours is None:
            return
        for button, handle in figure.buttons:
            group = self._layout.by_name.get(f"button{button}_state")
            if group is not None:
                handle.color = self._colours[int(np.argmax(state[list(group.indices)]))]


def _draw_grid(scene: viser.SceneApi) -> None:
    """Lines on the table, ten centimetres apart, as thin stripes.

    A stripe is two triangles. Viser's own grid computes its lines for every pixel, which costs a
    browser without a GPU a third of its frames.
    """
    for name, spacing, width, colour in _GRID:
        marks = np.arange(-_GRID_HALF, _GRID_HALF + 1e-6, spacing)
        stripes = [_stripe(mark, width, along) for mark in marks for along in (0, 1)]
        vertices = np.concatenate(stripes).astype(np.float32)
        corners = np.array([[0, 1, 2], [0, 2, 3]])
        faces = np.concatenate([corners + 4 * i for i in range(len(stripes))])
        scene.add_mesh_simple(
            f"/still/grid/{name}",
            vertices,
            faces,
            color=colour,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
            position=(0.4, 0.0, 0.001),
        )


def _stripe(mark: float, width: float, along: int) -> NDArray[np.float64]:
    """The corners `[4, 3]` of a line of the grid."""
    long = np.array([-_GRID_HALF, _GRID_HALF, _GRID_HALF, -_GRID_HALF])
    wide = mark + np.array([-width, -width, width, width]) / 2
    return np.stack([long, wide, np.zeros(4)] if along else [wide, long, np.zeros(4)], axis=1)
