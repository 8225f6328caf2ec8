"""Numbers from few seeds, against what can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.evaluate.stats import Rate
from goalsets.report import statistics
from goalsets.report.statistics import (
    correlation,
    gain_interval,
    holm,
    interquartile_interval,
    interquartile_mean,
    mean_interval,
    spread,
    success_interval,
)


def test_one_seed_has_no_spread() -> None:
    assert spread([90.0]) is None
    assert mean_interval([90.0]) is None
    assert spread([80.0, 90.0, 100.0]) == pytest.approx(10.0)


def test_all_resamples_of_few_seeds_are_counted() -> None:
    # Of the four resamples of two seeds, one has both times the lower, one both times the higher.
    assert mean_interval([0.0, 100.0]) == pytest.approx((3.75, 96.25))
    low, high = mean_interval([10.0, 20.0, 60.0]) or (0, 0)
    assert 10 <= low < 30 < high <= 60


def test_drawn_resamples_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [10.0, 35.0, 50.0, 55.0, 90.0]
    counted = mean_interval(values)
    monkeypatch.setattr(statistics, "_ENUMERATED", 0)
    assert mean_interval(values) == pytest.approx(counted, abs=2.0)


def test_seeds_that_agree_do_not_make_certain() -> None:
    low, high = success_interval([100.0, 100.0, 100.0], episodes=60)
    assert (low, high) == pytest.approx((100 * Rate(60, 60).interval[0], 100.0))
    assert low < 95
    # Seeds far apart say more about the next seed than any number of episodes.
    assert success_interval([0.0, 100.0], episodes=10_000) == pytest.approx((3.75, 96.25))


def test_interquartile_mean() -> None:
    assert interquartile_mean({"a": [0, 10, 20, 30, 40, 50, 60, 1000]}) == pytest.approx(35.0)
    assert interquartile_mean({str(v): [v] for v in (0, 40, 60, 1000)}) == pytest.approx(50.0)
    # More seeds of one task do not make it count for more.
    assert interquartile_mean({"a": [0.0] * 9, "b": [100.0]}) == pytest.approx(50.0)
    by_task = {"a": [0.0, 0.0], "b": [50.0, 60.0], "c": [100.0, 100.0]}
    low, high = interquartile_interval(by_task) or (0, 0)
    assert (low, high) == pytest.approx((50.0, 170 / 3))
    assert low < interquartile_mean(by_task) < high
    assert interquartile_interval({**by_task, "d": [50.0]}) is None
    assert interquartile_interval({}) is None


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_correlation() -> None:
    assert correlation([0, 1, 2], [1, 3, 5]) == pytest.approx(1.0)
    assert correlation([0, 1], [0, 1]) is None
    assert correlation([1, 1, 1], [0, 1, 2]) is None
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50))
    assert correlation(x, y) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_a_gain_is_as_sure_as_its_seeds_and_its_episodes() -> None:
    # Seeds that agree leave the episodes' doubt, of which there is less with more episodes.
    few = gain_interval([(10, 5, 50)] * 3)
    many = gain_interval([(100, 50, 500)] * 3)
    assert few[0] < many[0] < 10 < many[1] < few[1]
    # 1.96 standard errors of the mean of 150 differences of -1, 0 and 1.
    assert few == pytest.approx((10 - 8.6, 10 + 8.6), abs=1)
    # Seeds that do not agree say so, whatever the number of episodes.
    assert gain_interval([(0, 0, 9_000), (9_000, 0, 9_000)]) == pytest.approx((3.75, 96.25), abs=4)
    assert gain_interval([(0, 0, 50)] * 3) == (0, 0)
