"""Finds which position moves which other one: a position that changes only while the other is near.

For example, a gripper moves a block: the block rests until the gripper is there. Only rows that
follow each other show this, and only if the gripper is often elsewhere.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group
from goalsets.data.propose.offers import Offer
from goalsets.data.propose.values import MIN_ROWS

MOVE_SHARE = 0.005
"""A group moves if it changes by more than this share of its range, from one row to the next."""
JUMP_SHARE = 0.2
"""A larger change is a jump, not a motion: for example, a target that is drawn again."""
NEAR_SHARE = 0.9
"""In this share of the rows in which it moves, the other one is within the radius. The remaining
rows allow for objects that slide on after a push."""
MAX_RADIUS = 1 / 3
"""The largest radius that counts as near, as a share of its range."""
MAX_OTHERWISE = 0.5
"""If the other one is near more often than this while it rests, there is no evidence."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class _Track:
    """A position in the rows of a sample that are followed by another row."""

    group: Group
    places: Floats
    """`[M, n]`."""
    seen: Flags
    """Whether its values are finite in this row and the next one."""
    moves: Flags
    """Whether it moves without a jump."""
    range: float
    """The widest range of its coordinates that holds 98 % of the values; 0 if it only jumps."""

    @property
    def activity(self) -> float:
        """How often it moves."""
        return float(self.moves.sum() / max(1, self.seen.sum()))


def relative(
    groups: Sequence[Group], rows: NDArray[Any], starts: Sequence[int] | None
) -> list[Offer]:
    """Offer `relative_to` for each position for which the data show what moves it.

    Args:
        groups: Those that may be positions.
        rows: The sample `[N, D]`.
        starts: The rows at which episodes begin; None if rows do not follow each other.
    """
    if starts is None or len(rows) < 2 * MIN_ROWS:
        return []
    follows = np.ones(len(rows), dtype=np.bool_)
    follows[[0, *starts]] = False
    now = np.flatnonzero(follows) - 1
    tracks = [_track(group, rows, now) for group in groups if len(group.indices) in (2, 3)]
    found = (_best_offer(track, tracks) for track in tracks)
    return [offer for offer in found if offer is not None]


def _track(group: Group, rows: NDArray[Any], now: NDArray[np.intp]) -> _Track:
    values = rows[:, list(group.indices)].astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    here, there = values[now], values[now + 1]
    seen = ~np.isnan((here + there).sum(axis=1))
    still = _Track(group, here, seen, np.zeros_like(seen), 0.0)
    if seen.sum() < MIN_ROWS:
        return still
    low, high = np.percentile(here[seen], (1, 99), axis=0)
    widest = float((high - low).max())
    steps = np.linalg.norm(there - here, axis=1)
    changes, jumps = seen & (steps > MOVE_SHARE * widest), seen & (steps > JUMP_SHARE * widest)
    if 2 * jumps.sum() > changes.sum():
        return still
    return _Track(group, here, seen, changes & ~jumps, widest)


def _best_offer(track: _Track, tracks: Sequence[_Track]) -> Offer | None:
    """Of those that may move it, offer the nearest one: a hand rather than the wrist."""
    offers = [found for other in tracks if (found := _offer(track, other)) is not None]
    return min(offers, key=lambda found: found[0])[1] if offers else None


def _offer(track: _Track, other: _Track) -> tuple[float, Offer] | None:
    """How near the other one is when a position moves, and the offer, if there is evidence."""
    # A mover also moves alone, so it moves more often. So at most one of two moves the other.
    if len(track.group.indices) != len(other.group.indices) or other.activity <= track.activity:
        return None
    seen = track.seen & other.seen
    moves, rests = seen & track.moves, seen & ~track.moves
    if min(moves.sum(), rests.sum()) < MIN_ROWS:
        return None
    apart = np.linalg.norm(track.places - other.places, axis=1)
    radius = _rounded_up(float(np.quantile(apart[moves], NEAR_SHARE)))
    near, otherwise = (float((apart[rows] <= radius).mean()) for rows in (moves, rests))
    if radius > MAX_RADIUS * track.range or otherwise > MAX_OTHERWISE:
        return None
    evidence = (
        f"when it moves, {other.group.name} is within {radius:g} of it in {near:.0%} of "
        f"{moves.sum()} rows; otherwise in {otherwise:.0%}"
    )
    changed = dataclasses.replace(track.group, relative_to=other.group.name)
    return radius, Offer("relative", tuple(track.group.indices), evidence, (changed,))


def _rounded_up(value: float) -> float:
    """Round up to two digits, so that people can read it."""
    if value <= 0:
        return 0.0
    digits = 1 - math.floor(math.log10(value))
    return round(math.ceil(value * 10**digits) / 10**digits, digits)
