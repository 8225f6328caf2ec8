"""What a value landscape is drawn over: states of a task, laid out in planes."""

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
    """What moves; empty where the state is the plane."""
    unit: str
    x: Floats
    y: Floats
    states: Floats
    """`[len(y) * len(x), D]`, row by row."""
    goal: Floats
    aim: tuple[float, float]
    """Where the goal lies in the plane."""
    walls: NDArray[np.bool_]
    """`[len(y), len(x)]`, where nothing can be."""


@dataclass(frozen=True)
class Terrain:
    """The planes of a task, and what is asked over them."""

    queries: tuple[str, ...]
    """Asked of runs that hear a query."""
    caption: str
    """What the planes are, as the end of a sentence about distances."""
    planes: Callable[[], Sequence[Plane]]
    """Builds them: that may take an environment."""
