"""Times of rows and messages: their rate, and whether they are evenly spaced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.data.sources.base import Notices, SourceError

_UNEVEN = 0.5
"""A step is uneven if it differs from the usual step by more than this share."""
_CLOSE = 0.05
"""Rates that differ by less than this share count as equal."""


def in_seconds(values: NDArray[Any], unit: float, where: str) -> NDArray[np.float64]:
    """Times of an episode in seconds since its first row, from numbers in a unit or from dates."""
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
    # Subtract before converting to floats: as floats, nanoseconds since 1970 lose digits.
    return (values - values[:1]).astype(np.float64) * unit


def measured_rate(times: NDArray[np.float64], where: str) -> float | None:
    """Rows a second, from the median step; None if there is no step.

    Raises:
        SourceError: Times go back, or seem not to be in seconds.
    """
    steps = np.diff(times)
    if len(steps) == 0:
        return None
    if not np.isfinite(times).all() or (steps < 0).any():
        row = int(np.flatnonzero(~(steps >= 0))[0]) + 1
        raise SourceError(
            f"{where}: time goes back or is missing at row {row}. Does another episode begin "
            "there? Then add a column that numbers the episodes, or write one file for each."
        )
    median = float(np.median(steps))
    if not 1e-5 < median < 1000:
        raise SourceError(
            f"{where}: its times give {median:g} s for a step. Expected seconds, or a column whose "
            "name ends in '_ms', '_us' or '_ns'."
        )
    return float(f"{1 / median:.4g}")


def check_steps(
    times: NDArray[np.float64], rate: float, where: str, column: str, notices: Notices
) -> None:
    """Add a notice if an episode has another rate, or steps of different lengths."""
    own = measured_rate(times, where)
    if own is None:
        return
    if abs(own - rate) > _CLOSE * rate:
        notices.add(f"{column!r} gives another rate than {rate:g} steps a second", where)
    elif np.abs(np.diff(times) * own - 1).max() > _UNEVEN:
        notices.add(f"the steps of {column!r} are not evenly spaced in time", where)
