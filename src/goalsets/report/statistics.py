"""Statistics of a few seeds: means, spreads, and intervals that are valid for few seeds."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from goalsets.evaluate.stats import Rate

RESAMPLES = 10_000
_ENUMERATED = 6
"""Up to this many seeds, all resamples are enumerated (6^6 = 46,656) and none is drawn."""

Interval = tuple[float, float]


def spread(values: Sequence[float]) -> float | None:
    """The sample standard deviation; None for a single value."""
    return statistics.stdev(values) if len(values) > 1 else None


def mean_interval(values: Sequence[float], seed: int = 0) -> Interval | None:
    """The 95 % interval of the mean by the percentile bootstrap over seeds; None for one seed."""
    if len(values) < 2:
        return None
    means = _resamples(np.asarray(values, dtype=np.float64), np.random.default_rng(seed))
    low, high = np.quantile(means.mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def success_interval(values: Sequence[float], episodes: int, seed: int = 0) -> Interval:
    """The 95 % interval of a success rate in percent, for one or more seeds.

    It is the wider of two: the bootstrap over seeds, and Wilson's interval over the episodes of all
    seeds. The bootstrap alone would have no width if all seeds agree, such as three at 100 %.

    Args:
        values: The success of each seed, in percent.
        episodes: The number of episodes of all seeds together.
        seed: The seed of the bootstrap.
    """
    rate = Rate(round(statistics.fmean(values) / 100 * episodes), episodes)
    low, high = (100 * bound for bound in rate.interval)
    over_seeds = mean_interval(values, seed) or (low, high)
    return min(low, over_seeds[0]), max(high, over_seeds[1])


def gain_interval(pairs: Sequence[tuple[int, int, int]], seed: int = 0) -> Interval:
    """The 95 % interval of the mean gain over several seeds, in points.

    Like `success_interval`, it is the wider of two: the bootstrap over the seeds' gains, and the
    paired bootstrap over the episodes of all seeds.

    Args:
        pairs: For each seed, the number of episodes that only the one solved, that only the other
            solved, and of all.
        seed: The seed of the bootstrap.
    """
    won, lost, episodes = (sum(column) for column in zip(*pairs, strict=True))
    shares = [won / episodes, lost / episodes, 1 - (won + lost) / episodes]
    drawn = np.random.default_rng(seed).multinomial(episodes, shares, size=RESAMPLES)
    gains = 100 * (drawn[:, 0] - drawn[:, 1]) / episodes
    low, high = (float(bound) for bound in np.quantile(gains, (0.025, 0.975)))
    by_seed = [100 * (first - second) / count for first, second, count in pairs]
    over_seeds = mean_interval(by_seed, seed) or (low, high)
    return min(low, over_seeds[0]), max(high, over_seeds[1])


def interquartile_mean(by_task: Mapping[str, Sequence[float]]) -> float:
    """The mean of the middle half of all scores, without the lowest and the highest quarter.

    Every task has the same weight, whatever its number of seeds.
    """
    scores = [np.asarray(values, dtype=np.float64)[None] for values in by_task.values()]
    return float(_interquartile_means(scores)[0])


def interquartile_interval(
    by_task: Mapping[str, Sequence[float]], seed: int = 0
) -> Interval | None:
    """The 95 % interval of the interquartile mean over tasks, resampling seeds within each task.

    None if a task has a single seed, because that says nothing about other seeds.
    """
    if not by_task or any(len(values) < 2 for values in by_task.values()):
        return None
    rng = np.random.default_rng(seed)
    drawn = [
        rng.choice(np.asarray(values, dtype=np.float64), size=(RESAMPLES, len(values)))
        for values in by_task.values()
    ]
    low, high = np.quantile(_interquartile_means(drawn), (0.025, 0.975))
    return float(low), float(high)


def _interquartile_means(by_task: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The interquartile means `[R]` of scores `[R, seeds]` of each task."""
    scores = np.concatenate(by_task, axis=1)
    weights = np.concatenate([np.full(s.shape[1], 1 / s.shape[1]) for s in by_task])
    order = np.argsort(scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    shares = weights[order] / weights.sum()
    above = np.cumsum(shares, axis=1)
    inside = np.clip(np.minimum(above, 0.75) - np.maximum(above - shares, 0.25), 0, None)
    return (inside * ordered).sum(axis=1) / inside.sum(axis=1)


def correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's r; None for fewer than three points, or for points that do not vary."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for multiple tests, by Holm's step-down method."""
    order = np.argsort(p_values, kind="stable")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def _resamples(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Resamples of seeds, `[R, n]`."""
    count = len(values)
    if count <= _ENUMERATED:
        return values[_all_choices(count)]
    return rng.choice(values, size=(RESAMPLES, count))


@functools.cache
def _all_choices(count: int) -> NDArray[np.intp]:
    """All draws of `count` out of `count` with replacement, `[count ** count, count]`."""
    return np.indices((count,) * count).reshape(count, -1).T
