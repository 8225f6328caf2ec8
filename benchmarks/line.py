"""One line of the table, and the measurement of a rate."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A measured figure and its target."""

    what: str
    measured: float
    unit: str
    target: float | None = None
    """None for a figure that only informs."""
    at_most: bool = False
    """Whether the target is an upper bound."""

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED`, or nothing without a target."""
        if self.target is None:
            return ""
        met = self.measured <= self.target if self.at_most else self.measured >= self.target
        return "ok" if met else "MISSED"


def rate(act: Callable[[], int], seconds: float = 1.0) -> float:
    """Call `act`, which returns how much it did, for some seconds; return the median rate.

    The median over calls is robust to other load.
    """
    act()
    rates: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(rates) < 3:
        start = time.perf_counter()
        amount = act()
        rates.append(amount / (time.perf_counter() - start))
    return sorted(rates)[len(rates) // 2]


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core, if the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
