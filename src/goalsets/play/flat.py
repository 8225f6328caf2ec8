"""The scene of a world in 2D: its own picture in front of the camera, with handles on it."""

from __future__ import annotations

import math

import numpy as np
import viser

from goalsets.core import Query
from goalsets.play.goal import Goal
from goalsets.play.handles import Drag, Handle
from goalsets.play.setup import Setup
from goalsets.play.world import Floats, Frame

_SIDE = 4.8
"""How much of the table the view from above shows, in observation units; the view from the side
below it takes half as much."""
_GAP = 0.4
_PIXELS = 480


class FlatHand:
    """Places the camera before the pictures of all panes."""

    def __init__(self, setup: Setup) -> None:
        """Keep the setup."""
        self.setup = setup

    def build(self, server: viser.ViserServer) -> None:
        """Look straight at the table."""
        panes = len(self.setup.checkpoints)
        camera = server.initial_camera
        away = 10.0 if panes == 1 else 13.0
        camera.position = (0.0, -_SIDE / 4 - 0.01, away)
        camera.look_at = (0.0, -_SIDE / 4, 0.0)
        camera.up = (0.0, 1.0, 0.0)
        camera.fov = math.radians(45)

    def left(self, pane: int) -> float:
        """The x of the middle of a pane."""
        return (pane - (len(self.setup.checkpoints) - 1) / 2) * (_SIDE + _GAP)


class FlatScene:
    """One pane of one tab."""

    def __init__(
        self, client: viser.ClientHandle, hand: FlatHand, pane: int, drag: Drag | None
    ) -> None:
        """Add an empty picture."""
        self._poser = hand.setup.shelf.poser
        self._left = hand.left(pane)
        blank = np.full((int(1.5 * _PIXELS), _PIXELS, 3), 255, dtype=np.uint8)
        self._picture = client.scene.add_image(
            f"/picture/{pane}",
            blank,
            render_width=_SIDE,
            render_height=1.5 * _SIDE,
            position=(self._left, -_SIDE / 4, 0.0),
            wxyz=(0.0, 1.0, 0.0, 0.0),  # an image faces down the camera's axis; turn it to face up
            format="jpeg",
            jpeg_quality=85,
            cast_shadow=False,
            receive_shadow=False,
        )
        self._goal: Goal | None = None
        self._handled: Floats | None = None
        self._asked: Query | None = None
        self._frame: Frame | None = None
        self._handles: list[Handle] = []
        if drag is not None:
            offset = np.array([self._left, 0.0, 0.0])
            self._handles = [
                Handle(client.scene, grip, offset, drag, size=0.7, flat=True)
                for grip in hand.setup.shelf.grips
            ]
        if len(hand.setup.checkpoints) > 1:
            name = hand.setup.checkpoints[pane].name
            client.scene.add_label(f"/label/{pane}", name, position=(self._left, 2.7, 0.0))

    def show(self, frame: Frame) -> None:
        """Draw a moment, with the ghost of the goal in it."""
        self._frame = frame
        self._draw()

    def ghost(self, goal: Goal, query: Query, met: frozenset[str], handled: Floats) -> None:
        """Draw the part of a goal that is asked for; handles change the state `handled` `[D]`."""
        if self._handled is not handled:
            self._handled = handled
            for handle in self._handles:
                handle.put(handled)
        if goal is self._goal and query == self._asked:
            return
        self._goal, self._asked = goal, query
        self._draw()

    def offer(self, name: str | None) -> None:
        """Show the handle of one thing, or of none."""
        for handle in self._handles:
            handle.show(handle.grip.name == name)

    def _draw(self) -> None:
        if self._frame is not None and self._goal is not None and self._asked is not None:
            self._picture.image = self._poser.draw(
                self._frame, self._goal.state, self._asked, _PIXELS
            )
