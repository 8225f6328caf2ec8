"""The tabletop world and its scripted player: what they do, and that they repeat it."""

import numpy as np
import pytest

from goalsets.core import GoalSet, Query
from goalsets.envs.tabletop import (
    Oracle,
    Streams,
    TabletopError,
    TabletopWorld,
    build_states,
    held_blocks,
    record_play,
    tabletop_layout,
)
from goalsets.envs.tabletop.layout import EFF_POS, EFF_YAW, OPENING
from goalsets.envs.tabletop.states import arm_joints, blocks_of

CLOSE, OPEN = -1.0, 1.0


def world_with(eff_pos, *blocks, opening=1.0, eff_yaw=0.0):
    """One world with the gripper and the blocks at given places."""
    world = TabletopWorld(1, len(blocks), np.random.default_rng(0))
    world.set_state(
        build_states(
            eff_pos=[eff_pos],
            eff_yaw=[eff_yaw],
            opening=[opening],
            block_pos=[blocks],
            block_yaw=[[0.3] * len(blocks)],
        )
    )
    return world


def move(world, x=0.0, y=0.0, z=0.0, yaw=0.0, jaws=0.0, steps=1):
    for _ in range(steps):
        world.step([[x, y, z, yaw, jaws]])
    return world.observe()[0]


def block(state, index=0):
    return blocks_of(state)[index]


# --- Layout -----------------------------------------------------------------------------------


@pytest.mark.parametrize("num_blocks", [1, 2])
def test_layout_covers_the_observation(num_blocks):
    layout = tabletop_layout(num_blocks)
    world = TabletopWorld(3, num_blocks, np.random.default_rng(0))
    assert world.observe().shape == (3, layout.dim)
    assert all(owner is not None for owner in layout.owners)
    for alias in layout.aliases:
        Query.parse(alias, layout)
    task = Query.parse("task", layout)
    assert [term.name for term in task.terms] == [f"block{i}_pos" for i in range(num_blocks)]
    GoalSet(world.observe(), Query.all(layout))  # every group has a tolerance


def test_groups_name_what_they_hold():
    state = build_states(
        eff_pos=[[0.5, -0.5, 1.0]],
        eff_yaw=[np.pi / 2],
        opening=[0.7],
        block_pos=[[[1.0, -1.0, 0.2], [-1.0, 1.5, 0.2]]],
        block_yaw=[[0.0, np.pi]],
        swivel=[0.25],
    )[0]
    values = {g.name: state[list(g.indices)].tolist() for g in tabletop_layout(2).groups}
    assert values["eff_pos"] == pytest.approx([0.5, -0.5, 1.0])
    assert values["eff_yaw"] == pytest.approx([0, 1], abs=1e-6)
    assert values["gripper_opening"] == pytest.approx([0.7])
    assert values["joint_pos"][2] == pytest.approx(0.25)
    assert values["block1_pos"] == pytest.approx([-1.0, 1.5, 0.2])
    assert values["block1_yaw"] == pytest.approx([-1, 0], abs=1e-6)


def test_positions_are_decimetres():
    layout = tabletop_layout(1)
    assert Query.parse("cube_pos:4cm", layout) == Query.parse("block0_pos", layout)


# --- What the world does ----------------------------------------------------------------------


def test_gripper_moves_turns_and_opens_as_told():
    state = move(world_with((0, 0, 1.0), (1.5, 1.5, 0.2), opening=0.0), 1, -1, 0.5, 1, 0.5)
    assert state[EFF_POS] == pytest.approx([0.3, -0.3, 1.15])
    assert state[EFF_YAW] == pytest.approx([np.cos(0.3), np.sin(0.3)])
    assert state[OPENING] == pytest.approx(0.2)


def test_gripper_stays_in_its_workspace():
    state = move(world_with((0, 0, 1.0), (1.5, 1.5, 0.2)), 1, -1, -1, steps=30)
    assert state[EFF_POS] == pytest.approx([2.0, -2.0, 0.2])


def test_jaws_close_around_a_block_and_carry_it():
    world = world_with((0.1, -0.1, 0.25), (0, 0, 0.2))
    state = move(world, jaws=CLOSE, steps=3)
    assert state[OPENING] == pytest.approx(0.4)
    assert held_blocks(state[None]).all()
    assert block(state)[:3] == pytest.approx([0.1, -0.1, 0.2])
    lifted = move(world, 1, 1, 1, yaw=1, jaws=CLOSE, steps=4)
    assert block(lifted)[:3] == pytest.approx(lifted[EFF_POS] - [0, 0, 0.05], abs=1e-5)
    angle = np.arctan2(block(lifted)[4], block(lifted)[3])
    assert angle == pytest.approx(0.3 + 4 * 0.3, abs=1e-5)


@pytest.mark.parametrize("place", [(0.35, 0, 0.2), (0, 0, 0.4)])
def test_jaws_close_fully_on_a_block_out_of_reach(place):
    state = move(world_with(place, (0, 0, 0.2)), jaws=CLOSE, steps=3)
    assert state[OPENING] == 0
    assert not held_blocks(state[None]).any()


def test_grip_outlasts_a_weak_command_but_not_a_strong_one():
    world = world_with((0, 0, 0.2), (0, 0, 0.2))
    move(world, jaws=CLOSE, steps=2)
    assert held_blocks(move(world, jaws=0.4)[None]).all()
    assert not held_blocks(move(world, jaws=0.6)[None]).any()


def test_released_block_falls_to_the_table():
    world = world_with((0, 0, 0.2), (0, 0, 0.2))
    move(world, jaws=CLOSE, steps=2)
    high = block(move(world, z=1, jaws=CLOSE, steps=6))[2]
    assert high > 1.5
    falling = block(move(world, jaws=OPEN))[2]
    assert 0.2 < falling < high
    assert block(move(world, steps=5))[2] == pytest.approx(0.2)


def test_released_block_comes_to_lie_on_the_other():
    world = world_with((0, 0, 0.2), (0, 0, 0.2), (0.9, 0, 0.2))
    move(world, jaws=CLOSE, steps=2)
    move(world, z=1, jaws=CLOSE, steps=4)
    move(world, x=1, jaws=CLOSE, steps=3)
    state = move(world, jaws=OPEN, steps=5)
    assert block(state, 0)[:3] == pytest.approx([0.9, 0, 0.6], abs=1e-5)
    assert block(state, 1)[:3] == pytest.approx([0.9, 0, 0.2], abs=1e-5)


def test_a_held_block_rides_over_the_other_and_not_through_it():
    world = world_with((0, 0, 0.2), (0, 0, 0.2), (0.9, 0, 0.2))
    move(world, jaws=CLOSE, steps=2)
    state = move(world, x=1, jaws=CLOSE, steps=3)
    assert block(state, 0)[2] == pytest.approx(0.6)
    assert block(state, 1)[:3] == pytest.approx([0.9, 0, 0.2])
    assert held_blocks(state[None])[0].tolist() == [True, False]


def test_a_lifted_block_carries_the_one_that_lies_on_it():
    world = world_with((0, 0, 0.2), (0, 0, 0.2), (0, 0, 0.6))
    move(world, jaws=CLOSE, steps=2)
    state = move(world, z=1, jaws=CLOSE, steps=5)
    assert held_blocks(state[None])[0].tolist() == [True, False]
    assert block(state, 1)[2] == pytest.approx(block(state, 0)[2] + 0.4)


def test_nuisance_coordinates_move_by_themselves_and_joints_follow_the_gripper():
    world = TabletopWorld(200, 1, np.random.default_rng(0))
    before = world.observe()
    for _ in range(50):
        state = world.step(np.zeros((200, 5)))
    swivel = state[:, 2]
    assert np.abs(swivel - before[:, 2]).mean() > 0.2
    assert np.abs(swivel).max() <= 1.5
    assert state[:, 12].std() > 0.05
    assert np.allclose(state[:, :2], arm_joints(state[:, EFF_POS]), atol=1e-6)
    assert np.allclose(state[:, 3:5], 0)


# --- Repeatability ----------------------------------------------------------------------------


@pytest.mark.parametrize("num_blocks", [1, 2])
def test_set_state_undoes_observe(num_blocks):
    recording = record_play(8, 40, num_blocks, seed=3)
    states = recording.observations.reshape(-1, recording.observations.shape[-1])
    world = TabletopWorld(len(states), num_blocks, np.random.default_rng(0))
    world.set_state(states)
    assert np.array_equal(world.observe(), states)


def test_a_state_says_all_there_is_to_know():
    recording = record_play(20, 30, 2, seed=5)
    first, second = recording.observations[:, 10], recording.observations[:, 11]
    world = TabletopWorld(20, 2, np.random.default_rng(0))
    world.set_state(first)
    controlled = np.r_[0:2, 6:12, 13:23]  # all but the swivel, its speed and touch
    assert np.array_equal(
        world.step(recording.actions[:, 10])[:, controlled], second[:, controlled]
    )


def test_the_same_seed_gives_the_same_recording_whatever_the_chunk():
    recording = record_play(9, 40, 2, seed=1)
    again = record_play(9, 40, 2, seed=1, chunk=4)
    assert np.array_equal(recording.observations, again.observations)
    assert np.array_equal(recording.actions, again.actions)
    assert not np.array_equal(recording.observations, record_play(9, 40, 2, seed=2).observations)


def test_more_episodes_add_to_the_same_ones():
    assert np.array_equal(record_play(3, 20).actions, record_play(6, 20).actions[:3])


def test_streams_read_ahead_without_changing_the_numbers():
    short = Streams([np.random.default_rng(i) for i in range(3)], read_ahead=5)
    numbers = np.concatenate([short.random((3, n)) for n in (2, 7, 3, 1, 12)], axis=1)
    assert np.array_equal(numbers, [np.random.default_rng(i).random(25) for i in range(3)])
    with pytest.raises(TabletopError, match="expected 3 rows"):
        short.random((4, 1))


# --- The scripted player ----------------------------------------------------------------------


def test_recording_has_the_shape_of_episodes():
    recording = record_play(4, 25, 1)
    episodes = list(recording.episodes())
    assert len(recording) == len(episodes) == 4
    assert all(len(episode) == 25 for episode in episodes)
    assert recording.observations.dtype == recording.actions.dtype == np.float32
    assert np.abs(recording.actions).max() <= 1


def test_the_player_moves_blocks_everywhere():
    observations = record_play(200, 200, 1, seed=0).observations
    blocks = blocks_of(observations)[..., 0, :]
    airborne = (blocks[..., 2] >= 0.6).mean()
    assert 0.2 < airborne < 0.5
    travelled = np.abs(np.diff(blocks[..., :2], axis=1)).sum(axis=(1, 2))
    assert (travelled > 1).mean() > 0.9
    resting = blocks[blocks[..., 2] < 0.21]
    counts, *_ = np.histogram2d(resting[:, 0], resting[:, 1], bins=4, range=[[-2, 2]] * 2)
    assert counts.min() > 0.02 * counts.sum()
    openings = observations[..., OPENING]
    assert (openings > 0.8).mean() > 0.1
    assert (openings < 0.2).mean() > 0.02


def test_the_player_stacks():
    blocks = blocks_of(record_play(100, 200, 2, seed=0).observations)
    apart = np.abs(blocks[..., 0, :3] - blocks[..., 1, :3])
    stacked = (apart[..., :2].max(axis=-1) < 0.3) & (np.abs(apart[..., 2] - 0.4) < 1e-3)
    assert stacked.mean() > 0.02
    # Blocks never share a place.
    assert (apart.max(axis=-1) > 0.25).mean() > 0.99


def test_episodes_differ_in_how_noisy_they_are():
    rng = Streams.from_seeds(range(400))
    world, player = TabletopWorld(400, 1, rng), Oracle(400, 1, rng)
    commands = np.array([np.abs(player.act(world.observe())[:, 4]) for _ in range(20)])
    spread = commands.std(axis=0)
    assert np.quantile(spread, 0.9) > 1.5 * np.quantile(spread, 0.1)
