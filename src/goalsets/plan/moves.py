"""Recorded moves: which parts changed in the data, from which state to which, in how many steps.

A settling part makes a move when it leaves a rest and comes to rest elsewhere. Parts that move at
the same time make one joint move, such as a drawer and the object in it. So do switches that change
in the same step, such as a button of a puzzle and its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.plan.parts import STILL, Flags, Floats, Part, Rows

_STEP = STILL / 5
"""A part moves in a step if it changes by more than this many tolerances."""
_PAUSE = 8
"""A rest of fewer steps than this is a pause within a move."""
_NET = 0.5
"""A move must change a part by more than this many tolerances."""


@dataclass(frozen=True)
class Moves:
    """N moves over P parts; states are whole, of D coordinates."""

    before: Floats
    """`[N, D]`, the states at the beginning."""
    after: Floats
    """`[N, D]`, the states at the end."""
    changed: Flags
    """`bool[N, P]`, which parts moved."""
    steps: NDArray[np.float32]
    """`[N]`, steps since the end of the previous move, so that the way to the object counts too."""

    def __len__(self) -> int:
        """Return the number of moves."""
        return len(self.steps)

    def where(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Moves:
        """Some of them."""
        return Moves(
            self.before[chosen], self.after[chosen], self.changed[chosen], self.steps[chosen]
        )


@dataclass(frozen=True)
class Event:
    """Parts that change from one row to another."""

    first: int
    last: int
    parts: frozenset[int]


def record_moves(parts: Sequence[Part], observations: Floats, offsets: Rows) -> Moves:
    """Find all moves of data `[R, D]`, in its order.

    Args:
        parts: The settling parts and the switches; other parts make no moves.
        observations: `[R, D]`.
        offsets: `[E + 1]`, the rows at which episodes begin.
    """
    events: list[Event] = []
    for place, part in enumerate(parts):
        if part.nature == "settling":
            events += settling_moves(part, place, observations, offsets)
    events = [*_together(events), *_jumps(parts, observations, offsets)]
    events.sort(key=lambda event: (event.last, event.first))
    first = np.array([event.first for event in events], np.int64)
    last = np.array([event.last for event in events], np.int64)
    changed = np.zeros((len(events), len(parts)), np.bool_)
    for row, event in enumerate(events):
        changed[row, list(event.parts)] = True
    begins = offsets[np.searchsorted(offsets, first, side="right") - 1]
    # The end of the previous move, if it was in the same episode.
    ended = np.concatenate([[0], last])[np.searchsorted(last, first, side="right")]
    since = np.maximum(begins, ended)
    steps = np.maximum(last - since, 1).astype(np.float32)
    return Moves(observations[first], observations[last], changed, steps)


def settling_moves(part: Part, place: int, observations: Floats, offsets: Rows) -> Iterator[Event]:
    """Moves of a single part, which has the number `place`."""
    points = part.embed(observations)
    moving = np.linalg.norm(np.diff(points, axis=0), axis=-1) > _STEP
    moving[offsets[1:-1] - 1] = False  # from one episode to the next
    rows = np.flatnonzero(moving)
    if not len(rows):
        return
    episode = np.searchsorted(offsets, rows, side="right")
    cuts = np.flatnonzero((np.diff(rows) > _PAUSE) | (np.diff(episode) > 0)) + 1
    ends = offsets[1:] - 1
    for run in np.split(rows, cuts):
        first, last = int(run[0]), int(run[-1]) + 1
        unfinished = last + _PAUSE > ends[np.searchsorted(offsets, first, side="right") - 1]
        if not unfinished and part.apart(observations[first], observations[last]) > _NET:
            yield Event(first, last, frozenset({place}))


def _together(events: Sequence[Event]) -> list[Event]:
    """Join moves that overlap for more than half of the shorter one."""
    found: list[Event] = []
    for event in sorted(events, key=lambda event: event.first):
        before = found[-1] if found else None
        if before is not None and not before.parts & event.parts:
            shared = min(before.last, event.last) - max(before.first, event.first)
            if shared > min(before.last - before.first, event.last - event.first) / 2:
                found[-1] = Event(
                    before.first, max(before.last, event.last), before.parts | event.parts
                )
                continue
        found.append(event)
    return found


def _jumps(parts: Sequence[Part], observations: Floats, offsets: Rows) -> Iterator[Event]:
    """Steps in which switches change."""
    switches = [place for place, part in enumerate(parts) if part.nature == "switch"]
    if not switches:
        return
    jumped = np.stack(
        [
            (np.diff(observations[:, parts[place].columns], axis=0) != 0).any(-1)
            for place in switches
        ],
        axis=-1,
    )
    jumped[offsets[1:-1] - 1] = False
    for row in np.flatnonzero(jumped.any(-1)):
        which = [switches[place] for place in np.flatnonzero(jumped[row])]
        yield Event(int(row), int(row) + 1, frozenset(which))
