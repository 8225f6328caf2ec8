"""A canvas for convex shapes, in numpy only: enough to draw small pictures.

Shapes are drawn on a finer grid, which is averaged at the end to smooth their edges.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike, NDArray

Colour = tuple[float, float, float]
"""Red, green and blue, from 0 to 1."""

_FINENESS = 3


class Canvas:
    """A picture of `height` by `width` pixels, drawn in units of a pixel with y downwards."""

    def __init__(self, height: int, width: int, colour: Colour) -> None:
        """Start with a picture of one colour."""
        shape = (height * _FINENESS, width * _FINENESS, 3)
        self._pixels = np.empty(shape, dtype=np.float32)
        self._pixels[...] = colour

    def copy(self) -> Canvas:
        """Return a picture that can be drawn on without changing this one."""
        return copy.deepcopy(self)

    def polygon(self, corners: ArrayLike, colour: Colour, alpha: float = 1.0) -> None:
        """Fill a convex polygon with corners `[n, 2]`, in either direction of rotation."""
        points = np.asarray(corners, dtype=np.float64) * _FINENESS
        (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
        rows = slice(max(int(top), 0), max(int(bottom) + 1, 0))
        columns = slice(max(int(left), 0), max(int(right) + 1, 0))
        patch = self._pixels[rows, columns]
        if patch.size == 0:
            return
        y = np.arange(patch.shape[0])[:, None] + rows.start + 0.5
        x = np.arange(patch.shape[1])[None, :] + columns.start + 0.5
        sides = [
            (end[0] - start[0]) * (y - start[1]) - (end[1] - start[1]) * (x - start[0])
            for start, end in zip(points, np.roll(points, -1, axis=0), strict=True)
        ]
        inside = np.all([side >= 0 for side in sides], axis=0)
        inside |= np.all([side <= 0 for side in sides], axis=0)
        cover = np.float32(alpha) * inside[..., None]
        patch += cover * (np.array(colour, dtype=np.float32) - patch)

    def outline(
        self, corners: ArrayLike, colour: Colour, alpha: float = 1.0, width: float = 1.0
    ) -> None:
        """Draw the edges of a polygon with corners `[n, 2]`."""
        points = np.asarray(corners, dtype=np.float64)
        for ends in zip(points, np.roll(points, -1, axis=0), strict=True):
            self.line(np.array(ends), colour, alpha, width)

    def line(self, ends: ArrayLike, colour: Colour, alpha: float = 1.0, width: float = 1.0) -> None:
        """Draw a straight line between two points `[2, 2]`."""
        first, last = np.asarray(ends, dtype=np.float64)
        along = last - first
        along *= width / 2 / max(float(np.sqrt(along @ along)), 1e-9)
        across = np.array([-along[1], along[0]])
        # Extend the ends by half the width, so that the corners of an outline have no gaps.
        first, last = first - along, last + along
        self.polygon([first - across, first + across, last + across, last - across], colour, alpha)

    def picture(self) -> NDArray[np.uint8]:
        """Return what has been drawn as `uint8[height, width, 3]`."""
        offsets = range(_FINENESS)
        rows = np.sum([self._pixels[offset::_FINENESS] for offset in offsets], axis=0)
        total = np.sum([rows[:, offset::_FINENESS] for offset in offsets], axis=0)
        return np.round(total * np.float32(255 / _FINENESS**2)).astype(np.uint8)
