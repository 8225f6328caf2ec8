"""What the data did that is most like a situation: nearest neighbours among relabeled rows.

A situation is a state and a goal. Two are near if their states are, group by group, and if what is
left to be done is, where the query looks. That counts three times: what is left to be done decides
what to do, and a state has many more groups. All is in deviations of the data, and a group counts
as much as any other, however many coordinates it has.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.data.normaliser import Normaliser

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_TO_DO = 3.0
"""How often the way that is left counts."""
_TOGETHER = 64
"""Situations that are compared with all others at once."""


def situations(question: Question, normaliser: Normaliser, states: Floats, goals: Floats) -> Floats:
    """Situations `[N, F]` of states and goals `[N, D]`, as they are compared."""
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
    """For each of some situations the nearest known ones, and how far the nearest is.

    Args:
        known: `[M, F]`; at least one.
        asked: `[N, F]`.
        count: How many neighbours.

    Returns:
        Their places `[N, K]`, the nearest first, and distances `[N]`. K is `count`, or M if there
        are no more.
    """
    count = min(count, len(known))
    sizes = (known * known).sum(1)
    places = np.empty((len(asked), count), np.int64)
    apart = np.empty(len(asked), np.float32)
    for start in range(0, len(asked), _TOGETHER):
        part = asked[start : start + _TOGETHER]
        # Squared distances, without what all candidates have in common.
        squares = sizes - 2.0 * (part @ known.T)
        best = np.argpartition(squares, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(squares, best, 1), axis=1)
        best = np.take_along_axis(best, order, 1)
        places[start : start + _TOGETHER] = best
        common = (part * part).sum(1)
        found = np.maximum(squares[np.arange(len(part)), best[:, 0]] + common, 0.0)
        apart[start : start + _TOGETHER] = np.sqrt(found)
    return places, apart
