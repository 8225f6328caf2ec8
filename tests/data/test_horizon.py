"""How many steps ahead a goal may lie, where nobody says it: as many as the data needs."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.core import Episode, Group, StateLayout
from goalsets.data.horizon import usual_horizon
from goalsets.data.trajectories import Trajectories

LAYOUT = StateLayout(2, [Group("hand", (0,)), Group("cup", (1,))])


def data(hand: np.ndarray, cup: np.ndarray, episodes: int = 20) -> Trajectories:
    states = np.stack([hand, cup], -1).astype(np.float32)
    actions = np.zeros((len(states) - 1, 1), np.float32)
    return Trajectories.from_episodes([Episode(states, actions)] * episodes)


def test_a_motion_that_goes_somewhere_takes_most_of_an_episode():
    way = np.linspace(0, 1, 101)
    assert 60 <= usual_horizon(data(way, way), LAYOUT) <= 75


@pytest.mark.parametrize("period", [40, 100])
def test_long_logs_that_come_and_go_take_as_long_as_the_slowest_thing(period: int):
    time = np.arange(2000)
    rng = np.random.default_rng(0)
    stops = rng.uniform(-1, 1, 2000 // period + 2)
    slow = np.interp(time, np.arange(len(stops)) * period, stops)
    quick = rng.normal(size=2000)
    found = usual_horizon(data(quick, slow), LAYOUT)
    assert period / 2 <= found <= 2 * period
    assert usual_horizon(data(quick, quick), LAYOUT) <= 2
    # Units make no difference, nor does it change from one time to the next.
    assert usual_horizon(data(1000 * quick, 0.001 * slow), LAYOUT) == found


def test_what_never_moves_does_not_count():
    way, still = np.linspace(0, 1, 101), np.zeros(101)
    assert usual_horizon(data(way, still), LAYOUT) == usual_horizon(data(way, way), LAYOUT)
    assert usual_horizon(data(still, still), LAYOUT) == 1
    assert usual_horizon(data(still[:2], way[:2]), LAYOUT) == 1


def test_coordinates_without_a_group_count_too():
    way = np.linspace(0, 1, 101)
    bare = StateLayout(2, [])
    assert usual_horizon(data(way, way), bare) == usual_horizon(data(way, way), LAYOUT)
