"""Where the robot is asked to be when a step flips several switches at once."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalSet, Group, Query, StateLayout
from goalsets.plan import Follower, Planner
from goalsets.plan.moves import Moves
from goalsets.plan.touch import robot_groups, telling_groups

LIGHTS = StateLayout(
    dim=7,
    groups=[
        Group("hand", (0, 1), "euclidean", tolerance=0.4),
        Group("arm", (2,), "absolute", tolerance=0.2),
        Group("grip", (3,), "absolute", tolerance=0.1),
        *(Group(f"light{i}_state", (4 + i,), "exact", kind="light*_state") for i in range(3)),
    ],
)
BUTTONS = np.array([[-2.0, 0.0], [0.0, 1.0], [2.0, 0.0]])


def _data(flips: list[list[int]], presses: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A hand goes from button to button, and each button flips some lights."""
    rng = np.random.default_rng(0)
    hand, lights, rows = np.zeros(2), np.zeros(3), [np.zeros((0, 7))]
    for _ in range(presses):
        button = rng.integers(3)
        way = np.zeros((11, 7))
        way[:10, :2] = np.linspace(hand, BUTTONS[button] + rng.normal(0, 0.05, 2), 10)
        way[10, :2] = hand = way[9, :2]
        way[:, 2], way[:, 3], way[:, 4:] = rng.uniform(-3, 3, 11), 0.5, lights
        lights[flips[button]] = 1 - lights[flips[button]]
        way[10, 4:] = lights
        rows.append(way)
    data = np.concatenate(rows).astype(np.float32)
    return data, np.array([0, len(data)])


def _state(*lights: int) -> np.ndarray:
    return np.array([5, 5, 0, 0.5, *lights], np.float32)


@pytest.mark.parametrize(("goal", "button"), [((1, 1, 0), 0), ((1, 1, 1), 1), ((0, 1, 1), 2)])
def test_the_hand_is_asked_to_be_at_the_button(goal, button):
    planner = Planner.learn(LIGHTS, *_data([[0, 1], [0, 1, 2], [1, 2]]))
    follower = Follower(planner)
    asked = GoalSet(_state(*goal), Query.parse(" & ".join(map(_name, range(3))), LIGHTS))
    following = follower.begin(_state(0, 0, 0), asked)
    (step,) = following.plan.steps
    assert step.along == ("hand",)
    assert "with hand = (" in str(step)
    reference, mask = follower.question(following, _state(0, 0, 0))
    np.testing.assert_allclose(reference[:2], BUTTONS[button], atol=0.3)
    flipped = [4 + light for light in range(3) if goal[light]]
    assert np.flatnonzero(mask).tolist() == [0, 1, *flipped]
    assert step.holds(_state(*goal)), "the lights decide, wherever the hand is"


def test_a_single_light_says_itself_what_to_touch():
    planner = Planner.learn(LIGHTS, *_data([[0], [1], [2]]))
    asked = GoalSet(_state(1, 0, 1), Query.parse("light0_state & light2_state", LIGHTS))
    plan = planner.plan(_state(0, 0, 0), asked)
    assert [step.along for step in plan.steps] == [(), ()]


def test_too_few_moves_tell_nothing():
    states, changed = np.zeros((5, 7), np.float32), np.zeros((5, 3), bool)
    changed[:2, :2], changed[2:, 2] = True, True
    states[2:, 0] = 3
    moves = Moves(states, states, changed, np.ones(5, np.float32))
    robot = robot_groups(LIGHTS, ())
    assert [part.name for part in robot] == ["hand", "arm", "grip"]
    assert telling_groups(moves, (0, 1), states[0], robot) == ()
    assert telling_groups(moves, (2,), states[3], robot) == ("hand",)


def _name(light: int) -> str:
    return f"light{light}_state"
