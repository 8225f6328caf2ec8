"""Standardises states and actions to mean zero and deviation one over the training data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.data.pages import pieces
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]

_LEAST_STD = 1e-6
"""A coordinate with a smaller deviation counts as constant, and is only centred."""
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
        """Measure trajectories. The last row of an episode has no action and is not counted."""
        starts = np.ones(trajectories.num_states, dtype=np.bool_)
        starts[trajectories.offsets[1:] - 1] = False
        return cls(*_moments(trajectories.observations), *_moments(trajectories.actions, starts))

    def states(self, raw: Floats) -> Floats:
        """Standardise states `[..., D]`."""
        found = raw - self.state_mean
        found /= self.state_std  # in place, because arrays may be large
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
            observations=_in_pieces(self.states, trajectories.observations),
            actions=_in_pieces(self.actions, trajectories.actions),
            extras={},
        )


def _in_pieces(standardise: Callable[[Floats], Floats], values: Floats) -> Floats:
    """Standardise a whole array, piece by piece, so that memory holds only one piece twice."""
    found = np.empty(values.shape, np.float32)
    for rows, part in pieces(values, _CHUNK):
        found[rows] = standardise(np.asarray(part))
    return found


def _moments(values: Floats, counted: NDArray[np.bool_] | None = None) -> tuple[Floats, Floats]:
    """Mean and deviation over the counted rows, in double precision and piece by piece."""
    count = len(values) if counted is None else int(counted.sum())
    total, squares = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for rows, part in pieces(values, _CHUNK):
        total += _select(part, counted, rows).sum(axis=0, dtype=np.float64)
    mean = total / count
    for rows, part in pieces(values, _CHUNK):
        apart = _select(part, counted, rows) - mean
        apart *= apart
        squares += apart.sum(axis=0)
        del apart  # free it before the next piece
    std = np.sqrt(squares / count)
    std[std < _LEAST_STD] = 1.0
    return mean.astype(np.float32), std.astype(np.float32)


def _select(part: Floats, counted: NDArray[np.bool_] | None, rows: slice) -> Floats:
    part = np.asarray(part)
    return part if counted is None else part[counted[rows]]
