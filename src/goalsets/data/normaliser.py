"""Standardising states and actions: mean zero, deviation one, over the training data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]

_LEAST_STD = 1e-6
"""A coordinate that moves less than this is constant, and is only centred."""
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Normaliser:
    """Means and deviations of states and actions."""

    state_mean: Floats
    """`[D]`."""
    state_std: Floats
    """`[D]`."""
    action_mean: Floats
    """`[A]`."""
    action_std: Floats
    """`[A]`."""

    @classmethod
    def fit(cls, trajectories: Trajectories) -> Normaliser:
        """Measure trajectories; the filling action of a last state does not count."""
        last = np.zeros(trajectories.num_states, dtype=np.bool_)
        last[trajectories.offsets[1:] - 1] = True
        everywhere = np.ones_like(last)
        return cls(
            *_moments(trajectories.observations, everywhere),
            *_moments(trajectories.actions, ~last),
        )

    def states(self, raw: Floats) -> Floats:
        """Standardise states `[..., D]`."""
        found = raw - self.state_mean
        found /= self.state_std  # in place: whole data sets come by here
        return found

    def actions(self, raw: Floats) -> Floats:
        """Standardise actions `[..., A]`."""
        found = raw - self.action_mean
        found /= self.action_std
        return found

    def raw_actions(self, standardised: Floats) -> Floats:
        """Undo the standardisation of actions `[..., A]`."""
        return standardised * self.action_std + self.action_mean

    def apply(self, trajectories: Trajectories) -> Trajectories:
        """Return standardised trajectories in memory, without extras."""
        return dataclasses.replace(
            trajectories,
            observations=self.states(np.asarray(trajectories.observations)),
            actions=self.actions(np.asarray(trajectories.actions)),
            extras={},
        )


def _moments(values: NDArray[np.float32], counted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Mean and deviation over the counted rows, in double precision and a piece at a time."""
    count = int(counted.sum())
    total = np.zeros(values.shape[1])
    for start in range(0, len(values), _CHUNK):
        part = values[start : start + _CHUNK][counted[start : start + _CHUNK]]
        total += part.sum(axis=0, dtype=np.float64)
    mean = total / count
    squares = np.zeros(values.shape[1])
    for start in range(0, len(values), _CHUNK):
        part = values[start : start + _CHUNK][counted[start : start + _CHUNK]]
        squares += ((part - mean) ** 2).sum(axis=0)
    std = np.sqrt(squares / count)
    std[std < _LEAST_STD] = 1.0
    return mean.astype(np.float32), std.astype(np.float32)
