"""The cost of moves in a plan: their steps, the lack of evidence, and earlier failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goalsets.plan.found import Distance, Found, Move, Penalties
from goalsets.plan.parts import Floats, Part

FREE = 0.5
"""A distance of up to this many tolerances from recorded moves costs nothing; …"""
_DOUBT = 100.0
"""… each further tolerance costs this many steps."""


@dataclass(frozen=True)
class Prices:
    """Prices moves of parts."""

    parts: Sequence[Part]
    penalties: Penalties
    """Moves that failed."""
    distance: Distance | None = None
    """A learner's distance, which prices moves instead of the data."""

    def steps(
        self, state: Floats, targets: Floats, parts: tuple[int, ...], recorded: Floats
    ) -> Floats:
        """The steps that moves of parts take from a state to targets `[N, D]`: `[N]`.

        They come from recorded moves or from a learner. The learner sees the robot as it is now.
        """
        if self.distance is None:
            return recorded
        masks = np.zeros(targets.shape, np.bool_)
        for place in parts:
            masks[:, self.parts[place].columns] = True
        states = np.repeat(state[None], len(targets), 0)
        return np.maximum(self.distance(states, targets, masks), 1)

    def price(self, found: Found) -> float:
        """The total cost of a move."""
        doubt = _DOUBT * max(0.0, found.far - FREE)
        tried = self.penalties.extra
        return found.steps + doubt + (tried.get(self.move(found), 0.0) if tried else 0.0)

    def move(self, found: Found) -> Move:
        """The key that identifies a move in any state."""
        columns = [column for place in found.parts for column in self.parts[place].columns]
        return found.parts, tuple(np.round(found.state[columns], 1).tolist())
