"""Find the recorded situations that are most similar to given ones: nearest neighbours.

A situation is a state s and a goal g. Two situations are close if their states are close in every
group, and if their differences g − s are close in the groups of the query. The difference counts
three times, because it decides what to do and a state has many more groups. Distances are in
standard deviations of the data. All groups count alike, whatever their number of coordinates.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.data.normaliser import Normaliser

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_TO_DO = 3.0
"""Weight of the difference between goal and state."""
_TOGETHER = 64
"""Situations that are compared with all others in one product of matrices."""


def situations(question: Question, normaliser: Normaliser, states: Floats, goals: Floats) -> Floats:
    """Situations as vectors `[N, F]`, from states and goals `[N, D]`."""
    standard, wanted = normaliser.states(states), normaliser.states(goals)
    layout = question.query.layout
    loose = [(index,) for index, owner in enumerate(layout.owners) if owner is None]
    parts = [tuple(group.indices) for group in layout.groups] + loose
    columns = [standard[:, list(part)] / np.sqrt(len(part)) for part in parts]
    for term in question.query.terms:
        part = list(term.indices)
        left = wanted[:, part] - standard[:, part]
        columns.append(np.float32(_TO_DO) * left / np.sqrt(len(part)))
    return np.concatenate(columns, axis=1).astype(np.float32)


def nearest(known: Floats, asked: Floats, count: int = 1) -> tuple[Rows, Floats]:
    """For each situation, its nearest known ones, and the distance to the nearest.

    Args:
        known: `[M, F]`; at least one.
        asked: `[N, F]`.
        count: How many neighbours.

    Returns:
        Their indices `[N, K]`, the nearest first, and distances `[N]`. K is the smaller of `count`
        and M.
    """
    count = min(count, len(known))
    sizes = (known * known).sum(1)
    places = np.empty((len(asked), count), np.int64)
    apart = np.empty(len(asked), np.float32)
    for start in range(0, len(asked), _TOGETHER):
        part = asked[start : start + _TOGETHER]
        # Squared distances without |asked|², which is the same for all candidates.
        squares = sizes - 2.0 * (part @ known.T)
        best = np.argpartition(squares, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(squares, best, 1), axis=1)
        best = np.take_along_axis(best, order, 1)
        places[start : start + _TOGETHER] = best
        common = (part * part).sum(1)
        found = np.maximum(squares[np.arange(len(part)), best[:, 0]] + common, 0.0)
        apart[start : start + _TOGETHER] = np.sqrt(found)
    return places, apart
