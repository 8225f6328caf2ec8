"""Bounds of actions: what the environment takes, or what was logged, in the data's own units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.data.pages import pieces
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]

_CHUNK = 1 << 18
"""Rows looked at together, so that a mapped store stays on disk."""
_ROOM = 0.1
"""Of the range of logged actions, beyond either end."""


@dataclass(frozen=True)
class Bounds:
    """The smallest and largest actions, `[A]` each, in the environment's units."""

    low: Floats
    high: Floats

    @classmethod
    def plus_minus_one(cls, action_dim: int) -> Bounds:
        """What runs were bounded by before they said so themselves."""
        ones = np.ones(action_dim, dtype=np.float32)
        return cls(-ones, ones)

    @classmethod
    def seen_in(cls, trajectories: Trajectories) -> Bounds:
        """What the data itself did, and a tenth of its range more on either side.

        For logs of a robot whose limits nobody told us: an action far from all that was logged is
        no answer of a policy but a mistake.
        """
        last = np.zeros(trajectories.num_states, dtype=np.bool_)
        last[trajectories.offsets[1:] - 1] = True  # filling actions, which nobody took
        low = np.full(trajectories.actions.shape[1], np.inf)
        high = -low
        for rows, part in pieces(trajectories.actions, _CHUNK):
            taken = part[~last[rows]]
            if len(taken):
                low, high = np.minimum(low, taken.min(0)), np.maximum(high, taken.max(0))
        room = _ROOM * (high - low)
        return cls((low - room).astype(np.float32), (high + room).astype(np.float32))

    def keep(self, actions: Floats) -> Floats:
        """Bring actions within bounds, in place."""
        np.minimum(actions, self.high, out=actions)  # a third of the time of np.clip
        return np.maximum(actions, self.low, out=actions)
