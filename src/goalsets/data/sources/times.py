"""Times of rows and messages: the rate they tell, and whether they are even."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.data.sources.base import Notices, SourceError

_UNEVEN = 0.5
"""A step that is longer or shorter than the others by more than this share of theirs is uneven."""
_CLOSE = 0.05
"""Rates that differ by less are the same one."""


def in_seconds(values: NDArray[Any], unit: float, where: str) -> NDArray[np.float64]:
    """Times of an episode in seconds from its first row: numbers of a unit, or dates."""
    if values.dtype.kind not in "iufM":
        try:
            values = values.astype("datetime64[ns]")
        except (ValueError, TypeError):
            raise SourceError(
                f"{where}: expected times as numbers or as dates such as 2026-01-31T12:00:00.5, "
                f"got {str(values[0])!r}."
            ) from None
    if values.dtype.kind == "M":
        values, unit = values.astype("datetime64[ns]").astype(np.int64), 1e-9
    # Whole numbers are subtracted first: as floats, nanoseconds since 1970 lose digits.
    return (values - values[:1]).astype(np.float64) * unit


def measured_rate(times: NDArray[np.float64], where: str) -> float | None:
    """Rows a second, by the median step; None where there is no step.

    Raises:
        SourceError: Times go back, or are in another unit than seconds.
    """
    steps = np.diff(times)
    if len(steps) == 0:
        return None
    if not np.isfinite(times).all() or (steps < 0).any():
        row = int(np.flatnonzero(~(steps >= 0))[0]) + 1
        raise SourceError(
            f"{where}: time goes back or is missing at row {row}. Does another episode begin "
            "there? Then a column must number the episodes, or each has a file of its own."
        )
    median = float(np.median(steps))
    if not 1e-5 < median < 1000:
        raise SourceError(
            f"{where}: a step takes {median:g} s by its times. Times must be in seconds, or their "
            "column must end in '_ms', '_us' or '_ns'."
        )
    return float(f"{1 / median:.4g}")


def check_steps(
    times: NDArray[np.float64], rate: float, where: str, column: str, notices: Notices
) -> None:
    """Take note where an episode has another rate, or steps of different lengths."""
    own = measured_rate(times, where)
    if own is None:
        return
    if abs(own - rate) > _CLOSE * rate:
        notices.add(f"{column!r} tells another rate than {rate:g} steps a second", where)
    elif np.abs(np.diff(times) * own - 1).max() > _UNEVEN:
        notices.add(f"by {column!r}, steps are not evenly spaced in time", where)
