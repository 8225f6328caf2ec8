"""Values at times of their own, brought to one rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalsets.data.sources.base import Notices, SourceError
from goalsets.data.sources.resample import Stream, common_times, note_silence

SECOND = 10**9


def stream(seconds, values, filling="line", name="x"):
    times = [round(second * SECOND) for second in seconds]
    return Stream.sorted(name, times, np.array(values, float).reshape(len(times), -1), filling)


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=20, unique=True),
    st.integers(0, 2**60),
    st.sampled_from(["line", "hold"]),
)
def test_at_its_own_times_a_stream_has_its_own_values(microseconds, start, filling):
    times = [start + 1000 * t for t in microseconds]
    values = np.random.default_rng(0).normal(size=(len(times), 2))
    found = Stream.sorted("x", times, values, filling)
    np.testing.assert_allclose(found.at(np.array(times)), values)


def test_between_two_values():
    at = np.array([SECOND // 4, SECOND])
    assert stream([0, 1], [0, 8]).at(at).tolist() == [[2], [8]]
    assert stream([0, 1], [0, 8], "hold").at(at).tolist() == [[0], [8]]
    half = np.sqrt(0.5)
    turned = stream([0, 1], [[0, 0, 0, 1], [0, 0, -half, -half]], "turn")
    found = turned.at(np.array([SECOND // 2]))
    np.testing.assert_allclose(found, [[0, 0, np.sin(np.pi / 8), np.cos(np.pi / 8)]], atol=1e-9)


def test_of_several_values_at_one_time_the_last_counts():
    found = stream([1, 0, 1, 0.5], [[1], [2], [3], [4]])
    assert found.times.tolist() == [0, SECOND // 2, SECOND]
    assert found.values.ravel().tolist() == [2, 4, 3]


def test_times_of_all():
    states = [stream([0, 1, 2], [0, 0, 0]), stream([0, 0.2], [0, 1], "hold")]
    action = stream([0.5, 0.6], [0, 0], "hold")
    found = common_times(states, [action], 4, "bag")
    assert (found / SECOND).tolist() == [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    with pytest.raises(SourceError, match="bag: 'x' ends 3 s before 'late' begins"):
        common_times(states, [stream([5], [0], name="late")], 4, "bag")


def test_a_clock_that_misses_the_last_step_by_nanoseconds():
    almost = Stream.sorted("x", [0, SECOND - 3], np.zeros((2, 1)), "line")
    assert len(common_times([almost], [], 10, "bag")) == 11


def test_what_comes_rarely_is_not_silent():
    notices = Notices()
    rare = stream(range(10), range(10))
    note_silence([rare], common_times([rare], [], 10, "bag"), "bag", notices)
    assert list(notices) == []


def test_times_that_no_log_has():
    with pytest.raises(SourceError, match="'x' has messages from 0 to 9223372036854775808 ns"):
        Stream.sorted("x", [0, 1 << 63], np.zeros((2, 1)), "line")
    years = stream([0, 1, 4e8], [0, 0, 0])
    with pytest.raises(SourceError, match="4e.08 s at 10 Hz are 4,000,000,001 states, but .* 3 me"):
        common_times([years], [], 10, "bag")
