"""The usual tolerance: a default for groups whose layout gives no tolerance.

Proposed layouts, inspection and the verdicts of `goalsets check` use the same rule. The usual
tolerance is a twentieth of the range that holds 98 % of the values, taken from the coordinate with
the widest range. A few outliers do not widen it. For an angle or a rotation, it is a twentieth of
half a turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group
from goalsets.core.metrics import Metric, chord
from goalsets.data.trajectories import Trajectories

SHARE = 0.05
_MOST_STATES = 50_000
"""The most states that are read, evenly spread over all."""


class UsualTolerances:
    """Finds the usual tolerance of any coordinates.

    Args:
        states: `[N, D]`; values that are not finite are ignored.
    """

    def __init__(self, states: NDArray[Any]) -> None:
        """Keep the states."""
        self._states = np.asarray(states)

    @classmethod
    def of(cls, data: Trajectories) -> UsualTolerances:
        """The usual tolerances for the states of some episodes."""
        return cls(data.observations[:: max(1, -(-data.num_states // _MOST_STATES))])

    def find(self, indices: Sequence[int], metric: Metric) -> tuple[float, str]:
        """The tolerance of coordinates under a metric, and its reason as text for people."""
        if metric == "exact":
            return 0.0, "it is compared exactly"
        if metric in ("angle", "quaternion"):
            turn = SHARE * math.pi
            return chord(turn) if metric == "angle" else turn, f"{SHARE:.0%} of 180 deg"
        ranges, values = zip(*(self._look(index) for index in indices), strict=True)
        for widest, what in (
            (max(inner for inner, _ in ranges), "the range of 98% of its values"),
            (max(whole for _, whole in ranges), "its range"),
        ):
            if widest > 0:
                return _rounded(widest), f"{SHARE:.0%} of {what}, {widest:.3g}"
        size = max(values) or 1.0
        return _rounded(size), f"it never changes: {SHARE:.0%} of {size:.3g}"

    def give(self, group: Group) -> float:
        """A group's own tolerance, or the usual one."""
        if group.tolerance is not None:
            return group.tolerance
        return self.find(group.indices, group.metric)[0]

    def _look(self, index: int) -> tuple[tuple[float, float], float]:
        """The range of 98 % of the values, the range of all, and the largest absolute value."""
        column = self._states[:, index].astype(np.float64)
        column = column[np.isfinite(column)]
        if len(column) == 0:
            return (0.0, 0.0), 0.0
        low, high = np.percentile(column, (1, 99))
        return (float(high - low), float(np.ptp(column))), float(np.abs(column).max())


def _rounded(widest: float) -> float:
    """A share of the range, rounded to two digits, so that people can read it."""
    return float(f"{SHARE * widest:.2g}")
