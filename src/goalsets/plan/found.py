"""What a search finds: moves, and what is known of those that did not work out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goalsets.plan.parts import Floats

Distance = Callable[[Floats, Floats, NDArray[np.bool_]], Floats]
"""Steps from states `[N, D]` to goals `[N, D]` where masks `[N, D]` look: `[N]`, as a learner
predicts them."""


@dataclass(frozen=True)
class Found:
    """One move of a chain."""

    parts: tuple[int, ...]
    """Which parts change."""
    state: Floats
    """`[D]`, the state after it, as far as parts are concerned."""
    steps: float
    """What it should take."""
    far: float
    """How far the data is, in tolerances."""
    support: int
    """How many recorded moves speak for it."""
    aside: bool
    """Whether it puts something where nobody asked for it."""


Move = tuple[tuple[int, ...], tuple[float, ...]]
"""Which parts change, and to which values, roughly: tells moves apart, whatever else is where."""


@dataclass
class Penalties:
    """Moves that were tried and did not work out, and what they cost more from now on."""

    extra: dict[Move, float] = field(default_factory=dict[Move, float])

    def add(self, move: Move, cost: float) -> None:
        """Make a move dearer."""
        self.extra[move] = self.extra.get(move, 0.0) + cost
