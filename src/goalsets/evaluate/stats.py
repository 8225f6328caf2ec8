"""Intervals and tests for success rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Rate:
    """A share of successes with its 95 % Wilson interval."""

    successes: int
    episodes: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.successes / self.episodes if self.episodes else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval: valid for few episodes, and for rates of 0 and 1."""
        n, z2 = self.episodes, _Z95**2
        if n == 0:
            return 0.0, 1.0
        middle = (self.value + z2 / (2 * n)) / (1 + z2 / n)
        spread = math.sqrt(self.value * (1 - self.value) / n + z2 / (4 * n * n))
        half = _Z95 * spread / (1 + z2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    @classmethod
    def of(cls, outcomes: Sequence[bool]) -> Rate:
        """Count outcomes."""
        return cls(sum(map(bool, outcomes)), len(outcomes))

    def __str__(self) -> str:
        """Such as `94 % [84, 98]`."""
        if not self.episodes:
            return "no episodes"
        low, high = self.interval
        return f"{100 * self.value:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
