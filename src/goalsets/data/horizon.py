"""A default horizon for a user's own data: how many steps ahead a goal may be.

A goal is a later state of the same episode. If goals are only a few steps ahead, a policy never
learns about places that are further away. If goals are very far ahead, the action says little about
them. The default horizon lies in between. It is the number of steps after which every group has, on
average, moved nine tenths as far as it moves in half an episode or more. If each episode is one
motion that ends at its target, the horizon is about two thirds of an episode. In long logs that
move back and forth, it is the time that the slowest group needs to move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group, StateLayout
from goalsets.core.metrics import distance
from goalsets.data.trajectories import Trajectories

_NEARLY = 0.9
"""The share of its usual distance that every group must have moved within the horizon."""
_PAIRS = 2_000
"""Pairs of states that are compared at each number of steps."""
_LAGS = 40
"""How many numbers of steps are tried; they grow geometrically."""
_LONG = 12
"""How many numbers of steps, of half an episode or more, measure the usual distance."""
WORDS = (
    "by then every group has moved, on average, nine tenths as far as in half an episode or more; "
    "--horizon sets another"
)
"""The meaning of the default horizon, for people."""


def usual_horizon(data: Trajectories, layout: StateLayout) -> int:
    """How many steps ahead a goal may be, measured from the data. Equal data gives equal values."""
    rng = np.random.default_rng(0)
    longest = max(1, int(np.quantile(data.lengths, 0.9)))
    groups = [*layout.groups]
    groups += [Group.loose(i) for i, owner in enumerate(layout.owners) if owner is None]
    long = np.unique(np.linspace(longest / 2, 0.9 * longest, _LONG).astype(int).clip(1))
    far = np.mean([_moved(data, groups, int(lag), rng) for lag in long], 0)
    moving = far > 0
    for lag in np.unique(np.geomspace(1, longest, _LAGS).astype(int)):
        if (_moved(data, groups, int(lag), rng) >= _NEARLY * far)[moving].all():
            return int(lag)
    return longest


def _moved(
    data: Trajectories, groups: list[Group], lag: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The mean distance that each group moves in `lag` steps: `[G]`."""
    starts = np.maximum(data.lengths - lag + 1, 0)  # states with another one `lag` steps later
    chosen = rng.choice(len(starts), _PAIRS, p=starts / starts.sum())
    rows = np.sort(data.offsets[chosen] + (rng.random(_PAIRS) * starts[chosen]).astype(np.int64))
    before, after = data.states(rows).astype(np.float64), data.states(rows + lag).astype(np.float64)
    found = []
    for group in groups:
        indices = list(group.indices)
        apart = distance(group.metric, after[:, indices], before[:, indices])
        apart = apart[np.isfinite(apart)]
        found.append(float(apart.mean()) if len(apart) else 0.0)
    return np.array(found)
