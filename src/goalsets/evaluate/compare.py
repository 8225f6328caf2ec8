"""Paired comparison: compare runs episode by episode, on the same episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalsets.core import GoalsetsError

RESAMPLES = 10_000


@dataclass(frozen=True)
class Comparison:
    """A comparison of two runs on the episodes that both have."""

    predicate: str
    episodes: int
    only_first: int
    """Episodes in which the first succeeded and the second did not."""
    only_second: int
    difference: float
    """Success of the second minus success of the first."""
    interval: tuple[float, float]
    """95 % interval of the difference, by the paired bootstrap."""
    p_value: float
    """Two-sided p-value of McNemar's exact test of the hypothesis that neither is better."""

    def __str__(self) -> str:
        """Such as `+12 points [4, 20], p = 0.013`."""
        low, high = (100 * x for x in self.interval)
        return (
            f"{100 * self.difference:+.0f} points [{low:.0f}, {high:.0f}], p = {self.p_value:.2g}"
        )


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """McNemar's exact test on paired outcomes: a two-sided p-value."""
    from scipy.stats import binomtest

    only_first, only_second = _discordant(first, second)
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second, 0.5).pvalue)


def paired_bootstrap(
    first: Sequence[bool], second: Sequence[bool], rng: np.random.Generator
) -> tuple[float, float]:
    """The 95 % interval of the difference in success; episodes are resampled as pairs."""
    only_first, only_second = _discordant(first, second)
    count = len(first)
    if count == 0:
        return math.nan, math.nan
    shares = np.array([only_first, only_second, count - only_first - only_second]) / count
    # The difference depends only on how many episodes of each kind a resample has.
    drawn = rng.multinomial(count, shares, RESAMPLES)
    low, high = np.quantile((drawn[:, 1] - drawn[:, 0]) / count, (0.025, 0.975))
    return float(low), float(high)


def compare_outcomes(
    predicate: str, first: Sequence[bool], second: Sequence[bool], seed: int = 0
) -> Comparison:
    """Compare paired outcomes."""
    only_first, only_second = _discordant(first, second)
    return Comparison(
        predicate=predicate,
        episodes=len(first),
        only_first=only_first,
        only_second=only_second,
        difference=(only_second - only_first) / len(first) if first else math.nan,
        interval=paired_bootstrap(first, second, np.random.default_rng(seed)),
        p_value=mcnemar(first, second),
    )


def compare_records(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Comparison]:
    """Compare two records of one suite, predicate by predicate, where both were asked."""
    if first["digest"] != second["digest"]:
        raise GoalsetsError(
            f"only records of one suite can be paired: their digests are {first['digest']} and "
            f"{second['digest']}."
        )
    found: list[Comparison] = []
    for name, told in first["by_predicate"].items():
        ours = _outcomes(told)
        theirs = _outcomes(second["by_predicate"].get(name, {}))
        both = [key for key in ours if key in theirs]
        if both:
            found.append(compare_outcomes(name, [ours[k] for k in both], [theirs[k] for k in both]))
    return found


def _outcomes(told: Mapping[str, Any]) -> dict[tuple[int, int], bool]:
    return {(e["task_id"], e["seed"]): e["success"] for e in told.get("episodes", ())}


def _discordant(first: Sequence[bool], second: Sequence[bool]) -> tuple[int, int]:
    if len(first) != len(second):
        raise GoalsetsError(
            f"paired outcomes must be of the same episodes, got {len(first)} and {len(second)}."
        )
    pairs = [(bool(a), bool(b)) for a, b in zip(first, second, strict=True)]
    return pairs.count((True, False)), pairs.count((False, True))
