"""Recognises coordinates by their values: angles, quaternions, discrete values, constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group
from goalsets.data.propose.offers import Found, Offer

MIN_ROWS = 20
"""Fewer finite rows than this are not enough evidence."""
UNIT_SHARE = 0.999
"""Share of the finite rows that must lie on the unit circle or sphere."""
UNIT_ERROR = 1e-3
"""How far from 1 their norm may be."""
MAX_VALUES = 10
"""A coordinate with more different whole numbers counts as continuous."""

Finding = tuple[Found, range, str]


class Sample:
    """A sample of states, and the properties of each coordinate."""

    def __init__(self, observations: NDArray[Any]) -> None:
        """Measure every coordinate by itself."""
        self.rows = observations
        columns = [column[np.isfinite(column)] for column in observations.T]
        self.columns = columns
        self.constant = np.array([len(c) >= MIN_ROWS and np.ptp(c) <= 1e-7 for c in columns])
        self.discrete = np.array([self._is_discrete(c) for c in columns]) & ~self.constant
        self.binary = np.array([bool(np.isin(c, (0, 1)).all()) for c in columns])

    @staticmethod
    def _is_discrete(column: NDArray[Any]) -> bool:
        if len(column) < MIN_ROWS or (column != np.round(column)).any():
            return False
        return len(np.unique(column)) <= MAX_VALUES

    def finite(self, window: range) -> NDArray[Any]:
        """The rows in which some coordinates are all finite."""
        rows = self.rows[:, window.start : window.stop]
        return rows[np.isfinite(rows).all(axis=1)]

    def unit_share(self, window: range) -> float:
        """The share of the finite rows that have norm 1; 0 if there are too few finite rows."""
        rows = self.finite(window).astype(np.float64)
        if len(rows) < MIN_ROWS:
            return 0.0
        return float((np.abs(np.linalg.norm(rows, axis=1) - 1.0) <= UNIT_ERROR).mean())

    def is_unit(self, window: range) -> bool:
        """Whether some coordinates have norm 1 and more than one of them changes."""
        moving = sum(not (self.constant[i] or self.discrete[i]) for i in window)
        return moving >= 2 and self.unit_share(window) >= UNIT_SHARE


def find(sample: Sample, start: int, stop: int) -> Iterator[Finding]:
    """Search the coordinates of one field from the left; findings do not overlap."""
    at = start
    while at < stop:
        found = _unit(sample, at, start, stop) or _discrete(sample, at, stop)
        if found is not None:
            yield found
        at = at + 1 if found is None else found[1].stop


def _unit(sample: Sample, at: int, start: int, stop: int) -> Finding | None:
    kinds: tuple[tuple[Found, int], ...] = (("quaternion", 4), ("angle", 2))
    for kind, size in kinds:
        window = range(at, at + size)
        if window.stop > stop or not sample.is_unit(window):
            continue
        # A pair or a direction has norm 1 too, also together with coordinates that stay 0. But a
        # field of exactly four coordinates is a quaternion, even if it turns about one axis only.
        parts = (range(first, first + n) for n in (2, 3) for first in range(at, at + size - n + 1))
        if size == 2 or size == stop - start or not any(map(sample.is_unit, parts)):
            share, rows = 100 * sample.unit_share(window), len(sample.finite(window))
            evidence = f"norm within {UNIT_ERROR:g} of 1 in {share:.4g}% of {rows} rows"
            return kind, window, evidence
    return None


def _discrete(sample: Sample, at: int, stop: int) -> Finding | None:
    if not sample.discrete[at]:
        return None
    for end in range(at + 2, stop + 1):
        if not sample.binary[at:end].all():
            break
        rows = sample.finite(range(at, end))
        if len(rows) >= MIN_ROWS and (rows.sum(axis=1) == 1).all():
            return "one-hot", range(at, end), f"one of them is 1 in each of {len(rows)} rows"
    values = ", ".join(f"{value:g}" for value in np.unique(sample.columns[at]))
    return "discrete", range(at, at + 1), f"{len(sample.columns[at])} rows hold only {values}"


def constant(group: Group, sample: Sample) -> Iterator[Offer]:
    """Offer to leave out coordinates that never change."""
    indices = tuple(index for index in group.indices if sample.constant[index])
    if indices:
        values = ", ".join(f"{sample.columns[index][0]:.4g}" for index in indices)
        yield Offer("constant", indices, f"{len(sample.rows)} rows hold only {values}")
