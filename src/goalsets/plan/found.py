"""The results of a search: moves, and penalties for moves that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goalsets.plan.parts import Floats

Distance = Callable[[Floats, Floats, NDArray[np.bool_]], Floats]
"""A learner's prediction of the steps from states `[N, D]` to goals `[N, D]` under masks `[N, D]`:
`[N]`."""


@dataclass(frozen=True)
class Found:
    """One move of a chain."""

    parts: tuple[int, ...]
    """The parts that change."""
    state: Floats
    """`[D]`, the state after it; only the coordinates of parts count."""
    steps: float
    """How many steps it should take."""
    far: float
    """The distance to the nearest recorded move, in tolerances."""
    support: int
    """The number of recorded moves that support it."""
    aside: bool
    """Whether it moves something out of the way, to a place that the goal does not ask for."""


Move = tuple[tuple[int, ...], tuple[float, ...]]
"""The parts that change, and their rounded new values. It identifies a move in any state."""


@dataclass
class Penalties:
    """Moves that were tried and failed, and their additional cost."""

    extra: dict[Move, float] = field(default_factory=dict[Move, float])

    def add(self, move: Move, cost: float) -> None:
        """Increase the cost of a move."""
        self.extra[move] = self.extra.get(move, 0.0) + cost
