"""Roads: places of the data, and the ways between them."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.core import Group
from goalsets.plan.parts import Part
from goalsets.plan.roads import Roads, _stretches, build_roads

PART = Part("robot", (Group("place", (0, 1), "euclidean"),), (0.5,), "roaming")
CORNER = np.array([[0, 0], [4, 0], [8, 0], [8, 4], [8, 8]], np.float32)
"""A corridor with a corner: the straight way from the first place to the last is walled up."""


def roads(*extra: tuple[int, int, float]) -> Roads:
    """The corridor, ten steps from place to place, and other edges."""
    edges = [(here, here + 1, 10.0) for here in range(4)] + list(extra)
    ends = np.array([edge[:2] for edge in edges], np.int64)
    return Roads(PART, CORNER, ends, np.array([edge[2] for edge in edges], np.float32))


def test_short_edges_are_a_better_way_than_a_long_one_around_a_corner() -> None:
    way = roads((0, 4, 38.0)).to(CORNER[4])
    assert way.after.tolist()[:4] == [1, 2, 3, 4]
    assert way.steps.tolist() == [40.0, 30.0, 20.0, 10.0, 0.0]  # what they take, not what they cost
    assert way.ahead(CORNER[0], 12).tolist() == [8, 0]


def test_a_long_edge_is_taken_where_it_saves_much() -> None:
    way = roads((0, 4, 12.0)).to(CORNER[4])
    assert way.after[0] == 4
    assert way.left(CORNER[0] + 0.3) == 12.0


def test_who_is_where_nobody_came_back_from_goes_to_the_nearest_place_with_a_way() -> None:
    dead_end = np.concatenate([CORNER, np.array([[0, 4]], np.float32)])
    edges = np.array([*((here, here + 1) for here in range(4)), (0, 5)])
    way = Roads(PART, dead_end, edges, np.full(5, 10, np.float32)).to(CORNER[4])
    assert np.isinf(way.steps[5])
    assert way.left(dead_end[5]) == 40.0
    assert way.ahead(dead_end[5], 12).tolist() == [8, 0]


def test_ways_lead_to_a_place_that_somebody_came_to() -> None:
    aloof = np.concatenate([CORNER, np.array([[8.5, 8.5]], np.float32)])  # left once, never reached
    edges = np.array([*((here, here + 1) for here in range(4)), (5, 4)])
    way = Roads(PART, aloof, edges, np.full(5, 10, np.float32)).to(aloof[5])
    assert way.left(CORNER[0]) == 40.0
    assert way.goal.tolist() == aloof[5].tolist()


def test_who_is_near_the_end_is_asked_for_the_goal_itself() -> None:
    goal = CORNER[4] + 0.1
    assert roads().to(goal).ahead(CORNER[3], 12).tolist() == goal.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_roads_of_data_lead_along_its_trajectories(seed: int) -> None:
    walk = np.concatenate(
        [np.linspace(CORNER[0], CORNER[2], 40), np.linspace(CORNER[2], CORNER[4], 40)]
    ).astype(np.float32)
    offsets = np.array([0, len(walk), 2 * len(walk)])
    found = build_roads(PART, np.concatenate([walk, walk]), offsets, reach=20, seed=seed)
    way = found.to(CORNER[4])
    assert way.left(CORNER[0]) == pytest.approx(79, abs=6)
    place, passed = CORNER[0], []
    while not np.allclose(place, CORNER[4]):
        place = way.ahead(place, 6)
        passed.append(place)
        assert len(passed) < 40
    assert min(np.linalg.norm(np.array(passed) - CORNER[2], axis=1)) < 2
    back = found.to(CORNER[0])
    assert np.isinf(back.steps[int(found.nearest(CORNER[4][None])[1][0])])  # nobody went back


def _walks(episodes: int, teleports: bool) -> tuple[np.ndarray, np.ndarray]:
    """Walks along a corridor, from 0 to 40 and back; who comes to 20 may be taken to 80 and on."""
    rng = np.random.default_rng(0)
    walks: list[np.ndarray] = []
    for episode in range(episodes):
        steps = 1.0 + 0.1 * rng.standard_normal(39)
        x = np.concatenate([[0.0], np.cumsum(steps)])
        x = x[::-1].copy() if episode % 2 else x
        if teleports and episode % 3 == 0:
            x[20:] += 60.0
        walks.append(np.stack([x, np.zeros_like(x)], axis=1))
    offsets = np.cumsum([0, *map(len, walks)])
    return np.concatenate(walks).astype(np.float32), offsets


def test_no_road_leads_through_a_jump() -> None:
    states, offsets = _walks(60, teleports=True)
    drawn = build_roads(PART, states, offsets, reach=10)
    x = drawn.places[:, 0]
    across = (x[drawn.edges[:, 0]] < 45) & (x[drawn.edges[:, 1]] > 55)
    assert not across.any()
    here, there = states[0], np.array([35.0, 0.0], np.float32)
    assert np.isfinite(drawn.to(there).left(here))  # the corridor itself is open


def test_walkers_are_not_cut_into_pieces() -> None:
    states, offsets = _walks(60, teleports=False)
    assert np.array_equal(_stretches(states, offsets), np.repeat(np.arange(1, 61), 40))
