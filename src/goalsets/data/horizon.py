"""A horizon for data of one's own: how many steps the data takes to get anywhere.

A goal is a state that the data came to later. If it is only a few steps ahead, a policy never hears
of places that are further away. If it is so far ahead that the data could be anywhere by then, the
action that was taken says little about it. In between lies the time after which every group is, on
average, nearly as far from where it was as it is half an episode later or more. Of motions that go
somewhere and end there, this is about two thirds of an episode; of long logs that come and go, it
is the time that their slowest thing takes to be moved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group, StateLayout
from goalsets.core.metrics import distance
from goalsets.data.trajectories import Trajectories

_NEARLY = 0.9
"""As far as it gets, nearly."""
_PAIRS = 2_000
"""Pairs of states that are compared at each number of steps."""
_LAGS = 40
"""Numbers of steps that are tried, each a few percent more than the one before."""
_LONG = 12
"""Numbers of steps, half an episode or more, that tell how far groups get."""
WORDS = (
    "by then the data is, on average, nine tenths as far from where it was as it gets; "
    "--horizon sets another"
)
"""What it means, for people."""


def usual_horizon(data: Trajectories, layout: StateLayout) -> int:
    """How many steps ahead a state may be a goal, from the data; the same for the same data."""
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
    """How far each group is from where it was, on average, so many steps later: `[G]`."""
    starts = np.maximum(data.lengths - lag + 1, 0)  # states of each episode with one so much later
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
