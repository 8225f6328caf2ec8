"""Resamples values that come at different times to one rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.data.sources.base import Notices, SourceError

Filling = Literal["line", "turn", "hold"]
"""How to fill the time between two values: interpolate on a line, rotate from one unit quaternion
to the next, or hold the first value."""
Times = NDArray[np.int64]

_SILENCE = 500_000_000
"""A longer time without a value, in nanoseconds, gets a notice if values usually come more
often."""
_LATEST = 1 << 63
_MOST_FILLED = 1_000
"""States for each value of the stream with the most values. A log with more of them has damaged
times."""


@dataclass(frozen=True)
class Stream:
    """Values `[N, n]` at increasing times `[N]` in nanoseconds."""

    name: str
    times: Times
    values: NDArray[Any]
    filling: Filling

    @classmethod
    def sorted(
        cls, name: str, times: Sequence[int], values: NDArray[Any], filling: Filling
    ) -> Stream:
        """A stream from values in any order. Of several values at one time, the last one counts."""
        if len(times) and not -_LATEST < min(times) <= max(times) < _LATEST:
            raise SourceError(
                f"{name!r} has messages from {min(times)} to {max(times)} ns; times must be below "
                f"{_LATEST} ns."
            )
        at = np.array(times, dtype=np.int64)
        order = np.argsort(at, kind="stable")
        order = order[np.append(np.diff(at[order]) > 0, True)]
        return cls(name, at[order], values[order], filling)

    def at(self, times: Times) -> NDArray[Any]:
        """The values at some times; no time may be before the first value."""
        before = np.searchsorted(self.times, times, side="right") - 1
        if self.filling == "hold":
            return self.values[before]
        after = np.minimum(before + 1, len(self.times) - 1)
        span = np.maximum(self.times[after] - self.times[before], 1)
        share = ((times - self.times[before]) / span)[:, None]
        left, right = self.values[before], self.values[after]
        if self.filling == "turn":
            # The quaternions q and -q are the same rotation: take the nearer one.
            right = np.where((left * right).sum(axis=1, keepdims=True) < 0, -right, right)
        mixed = left + share * (right - left)
        if self.filling == "turn":
            mixed = mixed / np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-12)
        return mixed


def common_times(
    states: Sequence[Stream], actions: Sequence[Stream], rate: float, where: str
) -> Times:
    """Evenly spaced times, from when all streams have begun until the first of the states ends.

    Streams that hold their value do not end: they may have been sent only when they changed.
    """
    changing = [stream for stream in states if stream.filling != "hold"] or states
    last = max((*states, *actions), key=lambda stream: stream.times[0])
    first = min(changing, key=lambda stream: stream.times[-1])
    start, stop = int(last.times[0]), int(first.times[-1])
    if stop < start:
        raise SourceError(
            f"{where}: {first.name!r} ends {(start - stop) * 1e-9:.3g} s before {last.name!r} "
            "begins, so that there is no time at which all have values."
        )
    # The small number allows for a clock that is some nanoseconds early at the last step.
    count = int((stop - start) * 1e-9 * rate + 1e-6) + 1
    most = max(len(stream.times) for stream in (*states, *actions))
    if count > _MOST_FILLED * most:
        raise SourceError(
            f"{where}: {(stop - start) * 1e-9:,.3g} s at {rate:g} Hz are {count:,} states, but "
            f"there are only {most:,} messages of one kind. Its times are damaged, or the rate is "
            "too high."
        )
    return start + np.round(np.arange(count) * (1e9 / rate)).astype(np.int64)


def note_silence(streams: Sequence[Stream], times: Times, where: str, notices: Notices) -> None:
    """Add a notice for streams that had to be filled for unusually long."""
    for stream in streams:
        inside = (stream.times > times[0]) & (stream.times < times[-1])
        gaps = np.diff(np.concatenate([times[:1], stream.times[inside], times[-1:]]))
        usual = np.median(np.diff(stream.times)) if len(stream.times) > 1 else 0
        if gaps.max(initial=0) > max(_SILENCE, 5 * usual):
            what = "its last value was held" if stream.filling == "hold" else "it was interpolated"
            notices.add(f"{stream.name!r} is silent for more than half a second: {what}", where)
