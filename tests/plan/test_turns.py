"""Headings are asked for in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalSet, Group, Query, StateLayout
from goalsets.core.metrics import chord
from goalsets.plan import Follower, Planner
from goalsets.plan.parts import Part
from goalsets.plan.turns import headings, nearer

TOLERANCE = chord(np.deg2rad(20))
GROUPS = (
    Group("cube0_pos", (0, 1), "euclidean", tolerance=0.4, kind="cube*_pos"),
    Group("cube0_yaw", (2, 3), "angle", tolerance=TOLERANCE, kind="cube*_yaw"),
)
CUBE = Part("cube", GROUPS, (0.4, TOLERANCE), "settling")
EVERYTHING = np.ones(4, bool)


def turned(degrees: float) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return np.array([1, 2, np.cos(angle), np.sin(angle)], np.float32)


def asked(now: float, goal: float, mask: np.ndarray = EVERYTHING) -> float:
    found = nearer(headings([CUBE]), turned(now), turned(goal), mask)
    assert found[:2].tolist() == [1, 2]
    assert np.hypot(*found[2:]) == pytest.approx(1, abs=1e-6)
    return float(np.rad2deg(np.arctan2(found[3], found[2])))


@pytest.mark.parametrize(
    ("now", "goal", "piece"),
    [(0, 30, 30), (0, 120, 45), (0, -120, -45), (100, -100, 145), (-170, 20, 145)],
)
def test_far_headings_are_asked_for_in_pieces_the_short_way_round(
    now: float, goal: float, piece: float
) -> None:
    assert asked(now, goal) == pytest.approx(piece, abs=0.1)


def test_what_nobody_asks_for_stays_as_it_is() -> None:
    assert asked(0, 120, np.array([True, True, False, False])) == pytest.approx(120, abs=0.1)


def test_the_reference_itself_is_not_changed() -> None:
    goal = turned(120)
    nearer(headings([CUBE]), turned(0), goal, EVERYTHING)
    assert goal.tolist() == turned(120).tolist()


def test_only_what_is_put_down_is_turned_in_pieces() -> None:
    roaming = Part(CUBE.name, CUBE.groups, CUBE.tolerances, "roaming")
    assert headings([roaming]) == ()
    assert len(headings([CUBE, roaming])) == 1


def test_who_follows_a_plan_is_asked_for_pieces_until_the_heading_itself_holds() -> None:
    layout = StateLayout(dim=4, groups=list(GROUPS), name="cube")
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(20):  # a cube that rests, is turned by 40 degrees, and rests again
        angles = np.cumsum(
            np.repeat(rng.choice([-4.0, 4.0], 6), 50) * np.tile([0] * 40 + [1] * 10, 6)
        )
        episodes.append(np.stack([turned(angle) for angle in angles]))
    lengths = np.cumsum([0, *map(len, episodes)])
    planner = Planner.learn(layout, np.concatenate(episodes), lengths)
    follower = Follower(planner)
    goals = GoalSet(turned(170), Query.parse("cube0_yaw", layout))
    state, asked_for = turned(0), []
    following = follower.begin(state, goals)
    for _ in range(20):
        reference, mask = follower.question(following, state)
        assert mask.tolist() == [False, False, True, True]
        asked_for.append(float(np.rad2deg(np.arctan2(reference[3], reference[2]))))
        state = np.array([1, 2, *reference[2:]], np.float32)  # a policy that does what it is asked
    assert asked_for[:4] == pytest.approx([45, 90, 135, 170], abs=0.5)
