"""A goal is always a full state, and says where each of its numbers comes from."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.core import GoalsetsError
from goalsets.envs.tasks import TASKS, Scene
from goalsets.play.goal import Goal, ready_filters
from goalsets.play.grips import grips_of
from goalsets.play.setup import Setup
from tests.envs.walking import walk_task


def test_goals_come_whole_from_one_place(setup: Setup) -> None:
    goal = setup.shelf.held_out(3)
    assert goal.title == "held-out state 3"
    assert set(goal.sources) == set(setup.task.layout.by_name)
    assert set(goal.sources.values()) == {"held-out state 3"}
    np.testing.assert_array_equal(goal.state, setup.shelf.bank[3])
    official = setup.shelf.official(2, seed=0)
    assert official.state.shape == (setup.task.layout.dim,)
    assert official.sources["block0_pos"] == "official goal 2"


def test_dragging_the_block_changes_it_and_nothing_else(setup: Setup) -> None:
    before = setup.shelf.held_out(0)
    grip = next(grip for grip in setup.shelf.grips if grip.name == "block0")
    after = setup.shelf.move(before, grip, (1.0, -0.5, 0.2), np.pi / 2)
    changed = [n for n, source in after.sources.items() if source == "dragged"]
    assert changed == ["block0_pos", "block0_yaw"]
    assert grip.place(after.state) == pytest.approx([1.0, -0.5, 0.2])
    assert grip.yaw(after.state) == pytest.approx(np.pi / 2)
    others = [g for g in setup.task.layout.groups if g.name not in changed]
    for group in others:
        indices = list(group.indices)
        np.testing.assert_array_equal(after.state[indices], before.state[indices])
    assert after.title == "held-out state 0, changed"
    assert setup.shelf.move(after, grip, (0, 0, 0.2), 0.0).title == after.title


def test_the_arm_follows_a_gripper_that_is_dragged(setup: Setup) -> None:
    before = setup.shelf.held_out(0)
    grip = next(grip for grip in setup.shelf.grips if grip.name == "eff (gripper)")
    after = setup.shelf.move(before, grip, (-1.0, 1.0, 1.0), 0.0)
    assert after.sources["eff_pos"] == "dragged"
    assert after.sources["joint_pos"] == "follows"
    joints = list(setup.task.layout.by_name["joint_pos"].indices)
    assert not np.allclose(after.state[joints], before.state[joints])


def test_dragging_stays_within_reach(setup: Setup) -> None:
    grip = setup.shelf.grips[0]
    far = setup.shelf.move(setup.shelf.held_out(0), grip, (50.0, 50.0, 50.0), 0.0)
    assert (grip.place(far.state) <= 2.0).all()


def test_numbers_can_be_typed(setup: Setup) -> None:
    before = setup.shelf.held_out(0)
    after = setup.shelf.edit(before, "block0_pos.z=6cm; gripper_opening=0.5")
    assert after.sources["block0_pos"] == after.sources["gripper_opening"] == "typed"
    assert after.sources["eff_pos"] == "held-out state 0"
    with pytest.raises(GoalsetsError, match="unknown group 'blok0_pos'"):
        setup.shelf.edit(before, "blok0_pos=1")


def test_conditions_choose_among_held_out_states(setup: Setup) -> None:
    assert setup.shelf.rows("") == list(range(len(setup.shelf.bank)))
    found = setup.shelf.rows("eff_pos.z > 10cm")
    assert 0 < len(found) <= len(setup.shelf.bank)
    with pytest.raises(GoalsetsError, match="none of .* held-out states satisfies"):
        setup.shelf.rows("eff_pos.z > 900cm")
    with pytest.raises(GoalsetsError, match="expected a condition"):
        setup.shelf.rows("eff_pos.z")


def test_coordinates_without_a_group_have_a_source_too() -> None:
    from goalsets import Group, StateLayout

    layout = StateLayout(3, [Group("a", (0,), "absolute", tolerance=1.0)])
    goal = Goal.whole(layout, np.zeros(3), "somewhere")
    assert goal.sources == {"a": "somewhere", "rest": "somewhere"}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_something_to_drag(name: str) -> None:
    task = TASKS[name]
    grips = grips_of(task)
    assert grips
    state = np.zeros(task.layout.dim, dtype=np.float32)
    for grip in grips:
        place = (grip.bounds[0][0] + 0.1, grip.bounds[0][1] + 0.1, grip.bounds[0][2] + 0.1)
        put = grip.put(state, place, 0.5)
        count = 2 if grip.planar else 3
        assert grip.place(put)[:count] == pytest.approx(place[:count], rel=1e-4)
        if grip.heading is not None:
            assert grip.yaw(put) == pytest.approx(0.5)


def test_a_task_says_itself_what_can_be_dragged() -> None:
    assert [grip.name for grip in grips_of(walk_task())] == ["point"]  # as OGBench's `pos` is
    (grip,) = grips_of(walk_task(scene=Scene(grips=(("walker", "pos"),))))
    assert (grip.name, grip.groups, grip.planar) == ("walker", ("pos",), True)
    np.testing.assert_allclose(grip.put(np.zeros(3), (1.0, 2.0, 0.0), 0.0), [1.0, 2.0, 0.0])


def test_what_follows_is_the_adapters_to_say(setup: Setup) -> None:
    """Numbers that were typed stay as they were typed."""
    before = setup.shelf.held_out(0)
    joints = list(setup.task.layout.by_name["joint_pos"].indices)
    both = setup.shelf.edit(before, "eff_pos.x=5cm; joint_pos.0=0.5")
    assert both.sources["joint_pos"] == "typed"
    assert both.state[joints[0]] == 0.5
    np.testing.assert_array_equal(both.state[joints[1:]], before.state[joints[1:]])
    alone = setup.shelf.edit(before, "eff_pos.x=5cm")
    assert alone.sources["joint_pos"] == "follows"


def test_filters_are_those_of_the_suite() -> None:
    assert "block0_pos.z >= 0.60" in ready_filters(TASKS["cube-single-noisy-v0"])
    assert ready_filters(TASKS["puzzle-3x3-play-v0"]) == []
