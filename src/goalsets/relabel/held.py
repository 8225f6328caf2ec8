"""For how long every unit has stayed where it is: the table that arrivals are read from.

`held[r, u]` is the largest h such that in all rows from r − h to r, of one episode, unit u is
within its tolerance of what it is at row r. To compare row by row would take an episode's length
for each number. Instead, a row looks back in leaps: the extremes of the coordinates over 2ˡ rows,
known for all l, bound how far any of these rows can be; if even the farthest corner of that box is
within the tolerance, all rows are. Leaps double while they succeed, and halve when one fails; where
none is left, the row itself is compared, by the very function that judges success. So the bound
decides only how fast it goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.data.pages import give_back
from goalsets.relabel.goals import Rows
from goalsets.relabel.units import Flags, Floats, Unit

Held = NDArray[np.uint16]

MOST = 65535
"""What held more steps than fit into 16 bits counts as this many."""
_PIECE = 1 << 15
"""Rows that are computed at once: their extremes should stay in the processor's cache."""
_MARGIN = 1e-5
"""Bounds are summed in another order than distances: a share of the tolerance for the last bits."""


@dataclass(frozen=True)
class _Piece:
    """A stretch of rows, and what they look back on."""

    context: int
    """The first row that is looked at."""
    start: int
    stop: int
    begins: Rows
    """For each row from start to stop, the first row of its episode, or `context` if that is later:
    then it is `MOST` steps back."""


def held(observations: Floats, offsets: Rows, units: Sequence[Unit]) -> Iterator[Held]:
    """Compute the table, piece by piece: `[rows, U]` each, in the order of the rows.

    Args:
        observations: `[R, D]`, in observation units; may be mapped.
        offsets: `[E + 1]`, where episodes begin.
        units: The columns.
    """
    for piece in _pieces(offsets):
        yield _compute(observations, piece, units)
        give_back(observations, piece.context, piece.stop)


def _pieces(offsets: Rows) -> Iterator[_Piece]:
    """Whole episodes, as many as make a piece; those that are longer in parts."""
    start, rows = 0, int(offsets[-1])
    while start < rows:
        stop = min(start + _PIECE, rows)
        # Cutting an episode costs looking back across the cut, so whole ones are preferred.
        whole = int(offsets[np.searchsorted(offsets, stop, side="right") - 1])
        stop = whole if whole > start else stop
        places = np.arange(start, stop)
        starts = offsets[np.searchsorted(offsets, places, side="right") - 1]
        begins = np.maximum(starts, places - MOST)
        yield _Piece(int(begins[0]), start, stop, begins)
        start = stop


def _compute(observations: Floats, piece: _Piece, units: Sequence[Unit]) -> Held:
    states = np.array(observations[piece.context : piece.stop], np.float32)
    rows = np.arange(piece.start, piece.stop) - piece.context
    begins = piece.begins - piece.context
    found = np.empty((len(rows), len(units)), np.uint16)
    # What is not a number is not within anything, without complaint.
    with np.errstate(invalid="ignore", over="ignore"):
        for column, unit in enumerate(units):
            past = _Past(unit, states, max(1, int((rows - begins).max())))
            found[:, column] = _look_back(past, rows, begins)
    return found


class _Past:
    """What rows compare themselves with: single rows, and stretches of them by their extremes."""

    def __init__(self, unit: Unit, states: Floats, longest: int) -> None:
        self.unit = unit
        self.length = len(states)
        self._values: Floats = unit.values(states)
        self._columns: Floats = np.ascontiguousarray(np.swapaxes(self._values, 0, 1))
        # Level l, from 1 on: the extremes over the 2ˡ rows up to each.
        levels = longest.bit_length() - 1
        self._low = _extremes(np.minimum, self._columns, levels)
        self._high = _extremes(np.maximum, self._columns, levels)
        self._limit = _limit(unit)

    def row_is_near(self, places: Rows, rows: Rows) -> Flags:
        """Whether the values at places are within the tolerance of those at rows: exactly."""
        if self.unit.along_rows:
            return self.unit.within(self._values.take(places, 0), self._values.take(rows, 0))
        near, reference = self._columns.take(places, 1), self._columns.take(rows, 1)
        return self.unit.within(np.swapaxes(near, 0, 1), np.swapaxes(reference, 0, 1))

    def stretch_is_near(self, levels: Rows, places: Rows, rows: Rows) -> Flags:
        """Whether all of the 2ˡ rows up to places surely are; False says nothing."""
        at = (levels - 1) * self.length + places
        largest = np.zeros(len(rows), np.float32)
        # A quaternion and its negative are one rotation: all rows near the one, or the other.
        negative = np.zeros(len(rows), np.float32) if self.unit.metric == "quaternion" else None
        for values, low, high in zip(self._columns, self._low, self._high, strict=True):
            reference, lowest, highest = values.take(rows), low.take(at), high.take(at)
            far = np.maximum(reference - lowest, highest - reference)
            if self.unit.metric in ("absolute", "exact"):
                np.maximum(largest, far, out=largest)
                continue
            largest += far * far
            if negative is not None:
                far = np.maximum(-reference - lowest, highest + reference)
                negative += far * far
        found = largest <= self._limit
        return found if negative is None else found | (negative <= self._limit)


def _extremes(extreme: np.ufunc, columns: Floats, levels: int) -> Floats:
    """Extremes of columns `[n, W]` over 2, 4, 8, … rows up to each, as `[n, levels · W]`.

    Where a stretch begins before the first row, nothing is to be asked.
    """
    count, length = columns.shape
    found = np.empty((count, levels * length), np.float32)
    before = columns
    for level in range(levels):
        here, half = found[:, level * length : (level + 1) * length], 1 << level
        here[:, :half] = before[:, :half]
        extreme(before[:, half:], before[:, :-half], out=here[:, half:])
        before = here
    return found


def _limit(unit: Unit) -> np.float32:
    """What `stretch_is_near` compares with: a distance, or a sum of squares."""
    if unit.metric in ("absolute", "exact"):
        return np.float32(unit.tolerance)  # the largest of some numbers has no order
    if unit.metric == "relaxed":
        square = unit.tolerance * len(unit.indices) * (1 - _MARGIN)
    elif unit.metric == "quaternion":
        square = (2 * math.sin(min(unit.tolerance / 4, math.pi / 2)) * (1 - _MARGIN)) ** 2
    else:
        square = (unit.tolerance * (1 - _MARGIN)) ** 2
    return np.nextafter(np.float32(square), np.float32(0))


def _look_back(past: _Past, rows: Rows, begins: Rows) -> Rows:
    """For how many steps each row's value has held, `[rows]`."""
    found = rows - begins  # unless something stops it before
    logarithm = _logarithms(int(found.max(initial=0)) + 1)
    index = np.flatnonzero(found)
    rows, begins = rows[index], begins[index]
    place, level = rows - 1, np.zeros(len(rows), np.int64)
    rising = np.ones(len(rows), np.bool_)
    while len(rows):
        single = level == 0
        near = np.empty(len(rows), np.bool_)
        here, there = np.flatnonzero(single), np.flatnonzero(~single)
        near[here] = past.row_is_near(place[here], rows[here])
        near[there] = past.stretch_is_near(level[there], place[there], rows[there])
        place = place - np.where(near, 1 << level, 0)
        # Leaps grow until one fails, and then shrink to a single row; if that is near, after all,
        # the bounds were too wide, and all begins again.
        level = np.where(near & rising, level + 1, np.maximum(level - 1, 0))
        rising = np.where(single, near, near & rising)
        stopped = single & ~near
        found[index[stopped]] = (rows - place - 1)[stopped]
        going = np.flatnonzero(~stopped & (place >= begins))
        index, rows, begins, place = index[going], rows[going], begins[going], place[going]
        level = np.minimum(level[going], logarithm[place - begins + 1])
        rising = rising[going]
    return found


def _logarithms(most: int) -> Rows:
    """⌊log₂ k⌋ for k from 0 to `most`, and 0 for 0: how far a leap may go back."""
    numbers = np.maximum(np.arange(most + 1), 1)
    return np.frexp(numbers)[1].astype(np.int64) - 1
