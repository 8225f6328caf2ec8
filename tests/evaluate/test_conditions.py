"""Conditions on states, and margins around goal sets."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalSet, GoalsetsError, Query
from goalsets.core.margins import margin
from goalsets.envs.layouts import cube_layout, scene_layout
from goalsets.evaluate.conditions import Condition, describe_coordinate, find_coordinates

LAYOUT = cube_layout(1)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("block0_pos.z >= 0.6", 0.6, 0.59),
        ("block0_pos.z > 0.6", 0.61, 0.6),
        ("[21] < 0.6", 0.5, 0.6),
        ("0.6 <= block0_pos.2", 0.7, 0.5),
        ("0.10 <= block0_pos.z <= 0.35", 0.10, 0.36),
        ("block0_pos.z >= 6cm", 0.7, 0.5),
        ("block0_pos.z >= -0.1 & block0_pos.z < 3cm", 0.2, 0.31),
    ],
)
def test_conditions(text: str, inside: float, outside: float) -> None:
    states = np.zeros((2, 28))
    states[:, 21] = inside, outside
    found = Condition.parse(text, LAYOUT)
    assert found.holds(states).tolist() == [True, False]
    assert found.indices == (21,)


def test_every_coordinate_has_a_name_that_finds_it() -> None:
    for index in range(28):
        assert find_coordinates(describe_coordinate(index, LAYOUT), LAYOUT)[1] == (index,)
    assert describe_coordinate(21, LAYOUT) == "block0_pos.z"
    assert describe_coordinate(16, LAYOUT) == "eff_yaw.sin"
    assert describe_coordinate(17, LAYOUT) == "gripper_opening"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("block0_pos.z", "expected a condition such as"),
        ("block0_pos >= 0.6", "has 3 coordinates; a condition needs one: block0_pos.x or"),
        ("blok0_pos.z >= 0.6", "unknown group 'blok0_pos': did you mean 'block0_pos'"),
        ("block0_pos.w >= 0.6", "'block0_pos' has no part 'w'; it has: x, y, z"),
        ("[28] > 1", "index 28 is out of bounds"),
        ("block0_pos.z > 20deg", "'block0_pos' is measured in m: it cannot take 'deg'"),
        ("eff_yaw.cos > 20deg", "'eff_yaw' is measured in observation units only"),
        ("block0_pos.z > 6ft", "unknown unit 'ft'"),
        ("block0_pos.z > high", "expected a number such as 0.6 or 6cm"),
        ("block0_pos.z > inf", "expected a finite number"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(GoalsetsError, match=message):
        Condition.parse(text, LAYOUT)


def test_a_margin_counts_tolerances_of_the_worst_term() -> None:
    goals = GoalSet(np.zeros(28), Query.parse("block0_pos:0.4 & gripper_opening:0.1", LAYOUT))
    states = np.zeros((4, 28))
    states[1, 19] = 0.4  # at the edge of the set
    states[2, 19], states[2, 17] = 0.4, 0.3
    states[3, 21] = 1.0
    np.testing.assert_allclose(margin(goals, states), [0.0, 1.0, 3.0, 2.5])
    assert (goals.contains(states) == (margin(goals, states) <= 1)).all()


def test_a_term_without_slack_holds_or_is_far_away() -> None:
    layout = scene_layout()
    goals = GoalSet(np.zeros(40), Query.parse("button0_state", layout))
    states = np.zeros((2, 40))
    states[1, 28] = 1.0
    assert margin(goals, states).tolist() == [0.0, np.inf]
