"""The states over which a value landscape is drawn, laid out in planes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

GRID = 90
"""Points along the longer side of a plane."""


@dataclass(frozen=True)
class Plane:
    """States laid out over two coordinates."""

    label: str
    """What moves in the plane; empty if the plane is the whole state."""
    unit: str
    x: Floats
    y: Floats
    states: Floats
    """`[len(y) * len(x), D]`, row by row."""
    goal: Floats
    aim: tuple[float, float]
    """The goal's position in the plane."""
    walls: NDArray[np.bool_]
    """`[len(y), len(x)]`: positions that are not possible."""


@dataclass(frozen=True)
class Terrain:
    """The planes of a task, and the queries for them."""

    queries: tuple[str, ...]
    """The queries, for runs that are conditioned on a query."""
    caption: str
    """A description of the planes, as the end of a sentence about distances."""
    planes: Callable[[], Sequence[Plane]]
    """Builds the planes; this may need an environment."""
