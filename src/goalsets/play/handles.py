"""Handles: the arrows and the ring by which a thing of the ghost is dragged."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import viser
from numpy.typing import NDArray

from goalsets.play.grips import Grip
from goalsets.play.world import Floats

Drag = Callable[[Grip, tuple[float, float, float], float, bool], None]
"""Called with a grip, its new position, its yaw, and whether it was released."""


class Handle:
    """Moves a grip in the plane, turns it, and lifts it if the scene has height.

    A handle consists of two controls of viser. A single one would also offer turns about axes that
    no question can ask for.

    Args:
        scene: The scene of the tab.
        grip: The thing to drag.
        offset: The origin of the pane.
        drag: Called at every move.
        size: The size of the arrows, in units of the scene.
        flat: Whether the scene is seen from above only, so that heights do not change.
    """

    def __init__(
        self,
        scene: viser.SceneApi,
        grip: Grip,
        offset: NDArray[np.float64],
        drag: Drag,
        *,
        size: float,
        flat: bool = False,
    ) -> None:
        """Add the controls, hidden."""
        self.grip = grip
        self._offset = offset
        self._drag = drag
        self._flat = flat
        self._place = np.zeros(3)
        self._held = False
        self._controls: list[Any] = [
            scene.add_transform_controls(
                f"/handles/{grip.name}/plane",
                scale=size,
                active_axes=(True, True, False),
                disable_rotations=grip.heading is None,
                depth_test=False,
                opacity=0.8,
                visible=False,
            )
        ]
        if not (flat or grip.planar):
            self._controls.append(
                scene.add_transform_controls(
                    f"/handles/{grip.name}/height",
                    scale=size,
                    active_axes=(False, False, True),
                    disable_rotations=True,
                    depth_test=False,
                    opacity=0.8,
                    visible=False,
                )
            )
        for control in self._controls:
            control.on_update(self._follower(control))

    def show(self, visible: bool) -> None:
        """Show or hide it."""
        for control in self._controls:
            control.visible = visible

    def put(self, state: Floats) -> None:
        """Move the handle to the thing's place in a state, unless a person is dragging it."""
        self._place = self.grip.place(state)
        if not self._held:
            yaw = self.grip.yaw(state)
            for control in self._controls:
                self._set(control, self._place, yaw)

    def _set(self, control: Any, place: NDArray[np.float64], yaw: float) -> None:  # noqa: ANN401
        at = place + self._offset
        if self._flat:
            at[2] = 0.05  # just above the picture
        control.position = at
        control.wxyz = np.array([math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)])

    def _follower(self, control: Any) -> Any:  # noqa: ANN401 - viser's
        async def moved(event: Any) -> None:  # noqa: ANN401 - as above
            self._held = event.phase != "end"
            place = np.asarray(control.position, dtype=np.float64) - self._offset
            if self._flat:
                place[2] = self._place[2]
            w, _, _, z = (float(v) for v in control.wxyz)
            yaw = 2 * math.atan2(z, w)
            for other in self._controls:
                if other is not control:
                    self._set(other, place, yaw)
            x, y, z = (float(v) for v in place)
            self._drag(self.grip, (x, y, z), yaw, event.phase == "end")

        return moved
