"""Headings are asked for in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalSet, Group, Query, StateLayout
from goalsets.core.metrics import chord
from goalsets.plan import Follower, Planner
from goalsets.plan.moves import Moves
from goalsets.plan.parts import Part
from goalsets.plan.turns import Turning, early_turns, headings

TOLERANCE = chord(np.deg2rad(20))
GROUPS = (
    Group("cube0_pos", (0, 1), "euclidean", tolerance=0.4, kind="cube*_pos"),
    Group("cube0_yaw", (2, 3), "angle", tolerance=TOLERANCE, kind="cube*_yaw"),
)
CUBE = Part("cube0", GROUPS, (0.4, TOLERANCE), "settling", "cube*")
EVERYTHING = np.ones(4, bool)


def turned(degrees: float) -> np.ndarray:
    angle = np.deg2rad(degrees)
    return np.array([1, 2, np.cos(angle), np.sin(angle)], np.float32)


def no_moves() -> Moves:
    nothing = np.zeros((0, 4), np.float32)
    return Moves(nothing, nothing, np.zeros((0, 1), bool), np.zeros(0, np.float32))


def asked(now: float, goal: float, mask: np.ndarray = EVERYTHING) -> float:
    turns = headings([CUBE], no_moves())
    found, asked_for = Turning().ask(turns, turned(now), turned(goal), mask)
    assert asked_for.tolist() == mask.tolist()
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
    Turning().ask(headings([CUBE], no_moves()), turned(0), goal, EVERYTHING)
    assert goal.tolist() == turned(120).tolist()


def test_only_what_is_put_down_is_turned_in_pieces() -> None:
    roaming = Part(CUBE.name, CUBE.groups, CUBE.tolerances, "roaming")
    moves = Moves(*np.zeros((2, 0, 4), np.float32), np.zeros((0, 2), bool), np.zeros(0, np.float32))
    exact = Part(CUBE.name, CUBE.groups, (0.4, 0.0), "settling")
    assert headings([roaming, exact], moves) == ()
    assert len(headings([CUBE, roaming], moves)) == 1


def lifts(turn_until: float) -> tuple[np.ndarray, np.ndarray]:
    """A cube that moves along a line, and turns in the first part of each move."""
    share = np.linspace(0, 1, 21)
    rows, place, angle = [], 0.0, 0.0
    for move in range(60):
        way = 3.0 if move % 2 == 0 else -3.0
        for part in np.concatenate([share, np.ones(40)]):
            turn = 40 * min(part / turn_until, 1.0)
            row = turned(angle + turn)
            row[:2] = place + way * part, 2
            rows.append(row)
        place, angle = place + way, angle + 40
    return np.array(rows, np.float32), np.array([0, len(rows)])


def test_data_shows_whether_turns_are_early() -> None:
    assert early_turns([CUBE], *lifts(0.3)) == ("cube0_yaw",)
    assert early_turns([CUBE], *lifts(1.0)) == ()


def test_a_turn_that_stalls_in_the_air_is_lowered_and_lifted_again() -> None:
    layout = StateLayout(dim=4, groups=list(GROUPS), name="cube")
    planner = Planner.learn(layout, *lifts(0.3))
    assert planner.early_turns == ("cube0_yaw",)
    turns, turning = headings(planner.parts, planner.moves, planner.early_turns), Turning()
    state, goal = turned(0), turned(170)
    state[:2] = 1.4, 2  # between the two resting places, 0 and 3
    goal[:2] = 3, 2
    wanted = [turning.ask(turns, state, goal, EVERYTHING) for _ in range(8)]
    (found, mask), (lowered, lowered_mask) = wanted[0], wanted[-1]
    assert mask.tolist() == [False, False, True, True]  # the turn comes before the place
    assert np.rad2deg(np.arctan2(found[3], found[2])) == pytest.approx(45, abs=0.1)
    assert lowered_mask.all()
    np.testing.assert_allclose(lowered, [0, 2, 1, 0], atol=1e-4)  # down, and no further round
    state[:2] = 0.1, 2
    turning.ask(turns, state, goal, EVERYTHING)
    again, mask = turning.ask(turns, state, goal, EVERYTHING)
    assert mask.tolist() == [False, False, True, True]
    np.testing.assert_allclose(again[2:], found[2:], atol=1e-6)
    nearly = turned(160)
    nearly[:2] = 0, 2
    placed, mask = turning.ask(turns, nearly, goal, EVERYTHING)
    assert mask.all()
    assert placed.tolist() == goal.tolist()


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


def test_an_object_that_lies_at_its_place_with_a_wrong_heading_is_turned_first() -> None:
    layout = StateLayout(dim=4, groups=list(GROUPS), name="cube")
    planner = Planner.learn(layout, *lifts(1.0))
    turns, turning = headings(planner.parts, planner.moves, planner.early_turns), Turning()
    state, goal = turned(0), turned(60)
    state[:2] = goal[:2] = 3, 2
    masks = [turning.ask(turns, state, goal, EVERYTHING)[1].tolist() for _ in range(60)]
    assert masks[0] == [True] * 4
    assert masks[-1] == [False, False, True, True]
    there = turned(55)
    there[:2] = 0, 2
    placed, mask = turning.ask(turns, there, goal, EVERYTHING)
    assert mask.all()
    assert placed.tolist() == goal.tolist()
