"""A picture of a tabletop state: the table from above and, below it, from the side.

Blocks are squares with an arrow that shows their yaw. The gripper is a pair of jaws with an arrow;
the distance of the jaws is its opening. A goal is drawn transparent, as a ghost. The side view
shares its horizontal axis with the view from above and shows heights. Grid lines are a decimetre
apart.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import Query
from goalsets.envs.tabletop.canvas import Canvas, Colour
from goalsets.envs.tabletop.layout import (
    EFF_POS,
    EFF_YAW,
    MAX_BLOCKS,
    OPENING,
    TabletopError,
    state_dim,
)
from goalsets.envs.tabletop.states import BLOCK_SIDE, JAW_SPAN, WORKSPACE, Float, blocks_of

Points = NDArray[np.float64]

_BACKGROUND: Colour = (0.87, 0.89, 0.91)
_TABLE: Colour = (0.97, 0.95, 0.91)
_TABLE_EDGE: Colour = (0.72, 0.66, 0.57)
_GRID: Colour = (0.86, 0.82, 0.75)
_SHADOW: Colour = (0.25, 0.22, 0.18)
_GRIPPER: Colour = (0.20, 0.22, 0.27)
_HEADING: Colour = (0.96, 0.62, 0.13)
_WHITE: Colour = (1.0, 1.0, 1.0)
_BLOCKS: tuple[Colour, ...] = ((0.84, 0.27, 0.23), (0.20, 0.45, 0.82))

_HALF_WIDTH = 2.4
"""Half the width of a view in observation units."""
_MARGIN = 0.15
"""How far the table extends beyond the gripper's workspace."""
_FLOOR = -0.15
"""The lowest height in the side view."""
_FINGER = 0.34
_THICKNESS = 0.11
_FINGER_HEIGHT = 0.36
_ARROW = np.array([[0.14, 0.0], [-0.06, 0.1], [-0.06, -0.1]])
"""A triangle that points along the first axis."""


def render_state(
    observation: ArrayLike,
    goal: ArrayLike | None = None,
    *,
    query: Query | None = None,
    width: int = 256,
) -> NDArray[np.uint8]:
    """Draw a state `[D]` and return a picture `uint8[1.5 * width, width, 3]`.

    Args:
        observation: A full observation.
        goal: A full goal state, drawn as a ghost.
        query: Draw only the parts of the goal that the query asks for.
        width: The width in pixels.
    """
    state = _checked(observation)
    painter = _Painter(width)
    if goal is not None:
        wanted = _checked(goal)
        painter.ghost(wanted, _asked_for(query, len(wanted)))
    painter.state(state)
    return painter.canvas.picture()


class _Frame:
    """Converts points of the two views to pixels of a picture."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.height = width + width // 2
        self.pen = width / 256
        """The width of a thin line."""
        self._scale = width / (2 * _HALF_WIDTH)

    def from_above(self, points: ArrayLike) -> Points:
        """Pixels of points `[n, 2]` of x and y in the upper view: x to the right, y upwards."""
        at = np.asarray(points, dtype=np.float64)
        return np.stack([at[:, 0] + _HALF_WIDTH, _HALF_WIDTH - at[:, 1]], axis=1) * self._scale

    def from_side(self, points: ArrayLike) -> Points:
        """Pixels of points `[n, 2]` of x and z in the lower view: x to the right, z upwards."""
        at = np.asarray(points, dtype=np.float64)
        pixels = np.stack([at[:, 0] + _HALF_WIDTH, _FLOOR - at[:, 1]], axis=1) * self._scale
        return pixels + np.array([0, self.height])


@functools.lru_cache(maxsize=4)
def _empty_table(width: int) -> Canvas:
    """A picture of the table without blocks and gripper. All pictures start from it."""
    frame = _Frame(width)
    canvas = Canvas(frame.height, width, _BACKGROUND)
    (low, _, _), (high, _, top) = WORKSPACE.tolist()
    side = high - low + 2 * _MARGIN
    table = frame.from_above(_rectangle((0, 0), (side, side)))
    canvas.polygon(table, _TABLE)
    canvas.outline(table, _TABLE_EDGE, width=1.5 * frame.pen)
    for at in np.arange(low, high + 1):
        for line in ([(at, low), (at, high)], [(low, at), (high, at)]):
            canvas.line(frame.from_above(line), _GRID, width=frame.pen)
        canvas.line(frame.from_side([(at, 0), (at, top)]), _GRID, width=frame.pen)
    for at in np.arange(1, top + 1):
        canvas.line(frame.from_side([(low, at), (high, at)]), _GRID, width=frame.pen)
    canvas.polygon(frame.from_side(_rectangle((0, -0.05), (side, 0.1))), _TABLE_EDGE)
    canvas.line([(0, width), (width, width)], _WHITE, width=3 * frame.pen)
    return canvas


class _Painter:
    """Draws one picture; shapes are given in observation units."""

    def __init__(self, width: int) -> None:
        self._frame = _Frame(width)
        self.canvas = _empty_table(width).copy()

    def ghost(self, goal: Float, parts: Iterable[str]) -> None:
        """Draw the given parts of a goal: `block0`, `block1`, `gripper`."""
        for index, block in enumerate(blocks_of(goal)):
            if f"block{index}" in parts:
                self._block(block, _BLOCKS[index], ghost=True)
        if "gripper" in parts:
            self._gripper(goal, ghost=True)

    def state(self, state: Float) -> None:
        """Draw the state; lower objects come first."""
        blocks = blocks_of(state)
        for index in np.argsort(blocks[:, 2], kind="stable"):
            self._block(blocks[index], _BLOCKS[index])
        self._gripper(state)

    def _block(self, block: Float, colour: Colour, *, ghost: bool = False) -> None:
        place, z = block[:2].astype(np.float64), float(block[2])
        square = place + _turned(_rectangle((0, 0), (BLOCK_SIDE, BLOCK_SIDE)), block[3:])
        front = _rectangle((place[0], z), (np.ptp(square[:, 0]), BLOCK_SIDE))
        if not ghost:
            self._shadow(square, z - BLOCK_SIDE / 2)
        for shape in (self._frame.from_above(square), self._frame.from_side(front)):
            self.canvas.polygon(shape, colour, 0.25 if ghost else 1.0)
            edge = colour if ghost else _darker(colour)
            self.canvas.outline(shape, edge, 0.8 if ghost else 1.0, 1.2 * self._frame.pen)
        arrow = self._frame.from_above(place + _turned(_ARROW, block[3:]))
        self.canvas.polygon(arrow, colour if ghost else _WHITE, 0.6 if ghost else 1.0)

    def _gripper(self, state: Float, *, ghost: bool = False) -> None:
        place, z = state[EFF_POS][:2].astype(np.float64), float(state[EFF_POS][2])
        yaw = state[EFF_YAW]
        alpha = 0.3 if ghost else 1.0
        apart = (float(state[OPENING]) * JAW_SPAN + _THICKNESS) / 2
        palm = place + _turned(_rectangle((0, 0), (0.07, 2 * apart)), yaw)
        size = (_FINGER, _THICKNESS)
        jaws = [place + _turned(_rectangle((0, at), size), yaw) for at in (-apart, apart)]
        if not ghost:
            for jaw in jaws:
                self._shadow(jaw, z - BLOCK_SIDE / 2)
        self.canvas.polygon(self._frame.from_above(palm), _GRIPPER, 0.6 * alpha)
        for jaw in jaws:
            self.canvas.polygon(self._frame.from_above(jaw), _GRIPPER, alpha)
        heading = place + _turned(np.array([[0.0, 0.0], [_FINGER, 0.0]]), yaw)
        tip = place + _turned(0.8 * _ARROW + np.array([_FINGER, 0.0]), yaw)
        self.canvas.line(self._frame.from_above(heading), _HEADING, alpha, 2 * self._frame.pen)
        self.canvas.polygon(self._frame.from_above(tip), _HEADING, alpha)
        self._gripper_side(jaws, place[0], z, alpha)

    def _gripper_side(self, jaws: list[Points], x: float, z: float, alpha: float) -> None:
        """The jaws, the palm that joins them and the arm that comes from above."""
        bottom = z - BLOCK_SIDE / 2
        top = bottom + _FINGER_HEIGHT
        left, right = np.min(jaws, axis=(0, 1))[0], np.max(jaws, axis=(0, 1))[0]
        shapes = [_box(jaw[:, 0].min(), jaw[:, 0].max(), bottom, top) for jaw in jaws]
        shapes += [_box(left, right, top, top + 0.1), _box(x - 0.07, x + 0.07, top + 0.1, 3.0)]
        for shape in shapes:
            pixels = self._frame.from_side(shape)
            # The arm ends at the top of the side view, so that it does not reach the other view.
            pixels[:, 1] = np.maximum(pixels[:, 1], self._frame.width + 1.5 * self._frame.pen)
            self.canvas.polygon(pixels, _GRIPPER, alpha)

    def _shadow(self, corners: Points, height: float) -> None:
        """Draw a shadow; the higher the object, the further it lies to the lower right."""
        shifted = corners + np.array([1.0, -1.0]) * (0.03 + 0.18 * max(height, 0.0))
        self.canvas.polygon(self._frame.from_above(shifted), _SHADOW, 0.22)


def _checked(observation: ArrayLike) -> Float:
    state = np.asarray(observation, dtype=np.float32)
    dims = [state_dim(count) for count in range(1, MAX_BLOCKS + 1)]
    if state.ndim != 1 or len(state) not in dims:
        raise TabletopError(
            f"expected one observation of {' or '.join(map(str, dims))} coordinates, "
            f"got shape {state.shape}."
        )
    return state


def _asked_for(query: Query | None, dim: int) -> set[str]:
    """Which parts of a goal to draw; without a query, all of them."""
    mask = np.ones(dim, dtype=np.bool_) if query is None else query.mask
    parts = {f"block{index}" for index, block in enumerate(blocks_of(mask)) if block.any()}
    gripper = mask[EFF_POS].any() or mask[EFF_YAW].any() or mask[OPENING]
    return parts | ({"gripper"} if gripper else set())


def _rectangle(centre: tuple[float, float], size: tuple[float, float]) -> Points:
    (x, y), (width, height) = centre, size
    return _box(x - width / 2, x + width / 2, y - height / 2, y + height / 2)


def _box(left: float, right: float, bottom: float, top: float) -> Points:
    return np.array([(left, bottom), (right, bottom), (right, top), (left, top)])


def _turned(points: Points, direction: Float) -> Points:
    """Turn points `[n, 2]` by the angle of a (cosine, sine) pair."""
    cosine, sine = (float(value) for value in direction)
    return points @ np.array([[cosine, sine], [-sine, cosine]])


def _darker(colour: Colour) -> Colour:
    red, green, blue = colour
    return (0.6 * red, 0.6 * green, 0.6 * blue)
