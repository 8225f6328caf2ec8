"""For how many steps each unit has held its value: the table from which arrivals are computed.

`held[r, u]` is the largest h such that unit u is within its tolerance of its value at row r in all
rows from r − h to r of the episode. Comparing row by row would take the length of an episode for
each number. Instead, a row looks back in leaps of 2ˡ rows. For all l, the minimum and maximum of
each coordinate over 2ˡ rows are known; together they form a box. If even the farthest corner of the
box is within the tolerance, all these rows are. Leaps double while they succeed, and halve when one
fails. At a leap of one row, the row itself is compared, with the same function that judges success.
So the boxes change only the speed, not the result.
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
"""The largest number of steps that is counted: what fits into 16 bits."""
_PIECE = 1 << 15
"""Rows that are computed together: their extremes should fit into the processor's cache."""
_MARGIN = 1e-5
"""The share of the tolerance that allows for rounding: bounds are summed in another order than
distances."""


@dataclass(frozen=True)
class _Piece:
    """A range of rows, and the earlier rows that they look back at."""

    context: int
    """The first row that is read."""
    start: int
    stop: int
    begins: Rows
    """For each row from start to stop, the first row to which it looks back: the beginning of its
    episode, but at most `MOST` steps."""


def held(observations: Floats, offsets: Rows, units: Sequence[Unit]) -> Iterator[Held]:
    """Compute the table, piece by piece: `[rows, U]` each, in the order of the rows.

    Args:
        observations: `[R, D]`, in observation units; may be memory-mapped.
        offsets: `[E + 1]`, the rows at which episodes begin.
        units: The columns of the table.
    """
    for piece in _pieces(offsets):
        yield _compute(observations, piece, units)
        give_back(observations, piece.context, piece.stop)


def _pieces(offsets: Rows) -> Iterator[_Piece]:
    """Divide the rows into pieces of whole episodes; an episode longer than a piece is divided."""
    start, rows = 0, int(offsets[-1])
    while start < rows:
        stop = min(start + _PIECE, rows)
        # Prefer whole episodes: rows after a cut must look back across it.
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
    # NaN is never within a tolerance; this needs no warning.
    with np.errstate(invalid="ignore", over="ignore"):
        for column, unit in enumerate(units):
            past = _Past(unit, states, max(1, int((rows - begins).max())))
            found[:, column] = _look_back(past, rows, begins)
    return found


class _Past:
    """The earlier rows: single rows, and ranges of rows by their extremes."""

    def __init__(self, unit: Unit, states: Floats, longest: int) -> None:
        self.unit = unit
        self.length = len(states)
        self._values: Floats = unit.values(states)
        self._columns: Floats = np.ascontiguousarray(np.swapaxes(self._values, 0, 1))
        # Level l, from 1 on: the extremes over the 2ˡ rows that end at each row.
        levels = longest.bit_length() - 1
        self._low = _extremes(np.minimum, self._columns, levels)
        self._high = _extremes(np.maximum, self._columns, levels)
        self._limit = _limit(unit)

    def row_is_near(self, places: Rows, rows: Rows) -> Flags:
        """Whether the values at `places` are within the tolerance of those at `rows`; exact."""
        if self.unit.along_rows:
            return self.unit.within(self._values.take(places, 0), self._values.take(rows, 0))
        near, reference = self._columns.take(places, 1), self._columns.take(rows, 1)
        return self.unit.within(np.swapaxes(near, 0, 1), np.swapaxes(reference, 0, 1))

    def range_is_near(self, levels: Rows, places: Rows, rows: Rows) -> Flags:
        """Whether all 2ˡ rows that end at `places` are surely near; False means unknown."""
        at = (levels - 1) * self.length + places
        largest = np.zeros(len(rows), np.float32)
        # A quaternion and its negative are the same rotation: all rows may be near either one.
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
    """Extremes of columns `[n, W]` over the 2, 4, 8, … rows that end at each: `[n, levels · W]`.

    Entries whose range would begin before the first row are not valid; they are never read.
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
    """The limit for `range_is_near`: a distance, or a sum of squares."""
    if unit.metric in ("absolute", "exact"):
        return np.float32(unit.tolerance)  # a maximum needs no margin for rounding
    if unit.metric == "relaxed":
        square = unit.tolerance * len(unit.indices) * (1 - _MARGIN)
    elif unit.metric == "quaternion":
        square = (2 * math.sin(min(unit.tolerance / 4, math.pi / 2)) * (1 - _MARGIN)) ** 2
    else:
        square = (unit.tolerance * (1 - _MARGIN)) ** 2
    return np.nextafter(np.float32(square), np.float32(0))


def _look_back(past: _Past, rows: Rows, begins: Rows) -> Rows:
    """For how many steps each row's value has held, `[rows]`."""
    found = rows - begins  # the result for rows that no comparison stops earlier
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
        near[there] = past.range_is_near(level[there], place[there], rows[there])
        place = place - np.where(near, 1 << level, 0)
        # Leaps grow until one fails, and then shrink to a single row. If that row is near, the
        # bounds were too wide, and leaps grow again.
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
    """⌊log₂ k⌋ for k from 0 to `most`, and 0 for 0: the largest leap within k rows."""
    numbers = np.maximum(np.arange(most + 1), 1)
    return np.frexp(numbers)[1].astype(np.int64) - 1
