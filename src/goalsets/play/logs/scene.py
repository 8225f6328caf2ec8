"""The scene of logs: the robot as recorded, its goal as a ghost, and places with their trails.

What does not move is sent once for all tabs. Without a model, groups that are measured in metres
are drawn as points. Without these, there is no scene, and the charts use its space.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from goalsets.core import Query
from goalsets.play.figures import MET, OPEN, Figure, kinematics, light, new_data, stand
from goalsets.play.logs.places import Place, places_of
from goalsets.play.logs.setup import LogSetup
from goalsets.play.logs.show import LogShow
from goalsets.play.world import Floats

_FOV = math.radians(45)
_TRAILS = ((3, 105, 161), (190, 24, 93), (77, 124, 15), (67, 56, 202), (120, 53, 15))
_IGNORED = (140, 148, 160)
_SOME = 5_000
"""Recorded states from which the extent of places is computed, …"""
_POSES = 30
"""… and of the robot, which takes longer to pose."""


class LogHand:
    """Builds what all tabs of a server see.

    Args:
        setup: The episodes, the checkpoints and the robot.
    """

    def __init__(self, setup: LogSetup) -> None:
        """Find the middle and the size of everything."""
        self.setup = setup
        self.places = places_of(setup.layout)
        self.centre, self.size = self._extent()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return self.setup.robot is None and not self.places

    @property
    def flat(self) -> bool:
        """Whether everything lies in a plane."""
        return self.setup.robot is None and all(place.planar for place in self.places)

    def build(self, server: viser.ViserServer) -> None:
        """Add to the scene of all tabs what does not move, and place the camera."""
        if self.empty:
            return
        scene, robot = server.scene, self.setup.robot
        light(scene)
        if robot is not None:
            stand(scene, robot.bodies, robot.model)
        self._draw_grid(scene)
        self._place_camera(server)

    def _draw_grid(self, scene: viser.SceneApi) -> None:
        cell = 10.0 ** math.floor(math.log10(max(self.size, 1e-6) / 3))
        scene.add_grid(
            "/still/grid",
            width=40 * cell,
            height=40 * cell,
            cell_size=cell,
            section_size=5 * cell,
            position=(self.centre[0], self.centre[1], 0.0),
        )

    def _place_camera(self, server: viser.ViserServer) -> None:
        camera = server.initial_camera
        away = 1.25 * self.size
        if self.flat:
            camera.position = tuple(self.centre + np.array([-0.01, 0.0, 1.3]) * away)
        else:
            camera.position = tuple(self.centre + np.array([1.0, 0.7, 0.55]) * away)
        camera.look_at = tuple(self.centre)
        camera.fov = _FOV

    def _extent(self) -> tuple[NDArray[np.float64], float]:
        """The middle and the size of what is drawn."""
        corners: list[NDArray[np.float64]] = []
        states, robot = self.setup.data.observations, self.setup.robot
        some = np.asarray(states[:: max(1, len(states) // _SOME)])
        if robot is not None:
            corners += robot.extent(some[:: max(1, len(some) // _POSES)])
        for place in self.places:
            at = place.at(some)
            at = at[np.isfinite(at).all(-1)]
            if len(at):
                corners += [at.min(0), at.max(0)]
        if not corners:
            return np.zeros(3), 1.0
        low, high = np.min(corners, 0), np.max(corners, 0)
        return (low + high) / 2, max(float((high - low).max()), 1e-3)


class LogScene:
    """What moves in one tab.

    Args:
        client: The tab.
        hand: Has the robot and the places.
    """

    def __init__(self, client: viser.ClientHandle, hand: LogHand) -> None:
        """Send the shapes."""
        self._robot = hand.setup.robot
        self._goal: Floats | None = None
        self._looks: tuple[Query, frozenset[str]] | None = None
        if self._robot is not None:
            self._data = new_data(self._robot.model)
            moving = [body for body in self._robot.bodies if body.moves]
            driven = [body for body in moving if body.groups]
            self._live = Figure(client.scene, "/live", moving, ghost=False)
            self._ghost = Figure(client.scene, "/ghost", driven, ghost=True)
        self._marks = [
            _Mark(client.scene, place, _TRAILS[i % len(_TRAILS)], hand.size)
            for i, place in enumerate(hand.places)
        ]

    def draw(self, show: LogShow) -> None:
        """Draw the present step, and the goal."""
        asked = frozenset(term.name for term in show.question.query.terms)
        met, query, goal = show.met, show.question.query, show.goal.state
        for mark in self._marks:
            mark.draw(show, asked, met)
        if self._robot is None:
            return
        origin = np.zeros(3)
        if self._looks != (query, met):
            self._ghost.paint(asked, met)
            self._looks = query, met
        if self._goal is None or not np.array_equal(self._goal, goal):
            self._goal = goal.copy()
            pose = self._robot.pose(goal)
            self._ghost.place(*kinematics(self._robot.model, self._data, pose), origin)
        pose = self._robot.pose(show.state)
        self._live.place(*kinematics(self._robot.model, self._data, pose), origin)


class _Mark:
    """A place: its current position, its path in the episode, and its position in the goal."""

    def __init__(
        self, scene: viser.SceneApi, place: Place, colour: tuple[int, int, int], size: float
    ) -> None:
        self._scene, self._place, self._colour = scene, place, colour
        self._least = 0.012 * size
        look: dict[str, Any] = {"cast_shadow": False, "receive_shadow": False}
        name = f"/place/{place.name}"
        self._point = scene.add_icosphere(
            f"{name}/now", radius=self._least, color=colour, subdivisions=2, **look
        )
        scene.add_label(f"{name}/now/name", place.name)
        self._centre = scene.add_icosphere(
            f"{name}/goal", radius=0.7 * self._least, color=OPEN, subdivisions=2, **look
        )
        self._ball = scene.add_icosphere(
            f"{name}/within", radius=1.0, color=OPEN, opacity=0.25, subdivisions=2, **look
        )
        self._shown: tuple[int, int] | None = None

    def draw(self, show: LogShow, asked: frozenset[str], met: frozenset[str]) -> None:
        """Update it."""
        if self._shown != (show.episode_number, show.number):
            self._shown = show.episode_number, show.number
            way = self._place.at(np.asarray(show.episode.observations)).astype(np.float32)
            self._scene.add_line_segments(
                f"/place/{self._place.name}/way",
                np.stack([way[:-1], way[1:]], axis=1),
                np.array(self._colour, np.uint8),
                thickness=2.0,
                thickness_units="screen",
            )
        self._point.position = self._place.at(show.state)
        self._centre.position = self._ball.position = self._place.at(show.goal.state)
        wanted = self._place.name in asked
        colour = _IGNORED if not wanted else MET if self._place.name in met else OPEN
        self._centre.color = self._ball.color = colour
        terms = {term.name: term for term in show.question.query.terms}
        tolerance = terms[self._place.name].tolerance if wanted else None
        self._ball.visible = bool(tolerance)
        if tolerance:
            self._ball.scale = max(tolerance * self._place.metres, 1.1 * self._least)
