"""The tabletop world: what it does, that it repeats, and that it is a proper environment."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from goalsets.core import GoalSet, GoalsetsError, Query
from goalsets.envs.tabletop import (
    ENV_IDS,
    HORIZONS,
    Oracle,
    Streams,
    TabletopEnv,
    TabletopError,
    TabletopWorld,
    build_states,
    collect,
    goal_states,
    held_blocks,
    official_task,
    official_tasks,
    register_envs,
    start_tasks,
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
    recording = collect(8, 40, num_blocks, seed=3)
    states = recording.observations.reshape(-1, recording.observations.shape[-1])
    world = TabletopWorld(len(states), num_blocks, np.random.default_rng(0))
    world.set_state(states)
    assert np.array_equal(world.observe(), states)


def test_a_state_says_all_there_is_to_know():
    recording = collect(20, 30, 2, seed=5)
    first, second = recording.observations[:, 10], recording.observations[:, 11]
    world = TabletopWorld(20, 2, np.random.default_rng(0))
    world.set_state(first)
    controlled = np.r_[0:2, 6:12, 13:23]  # all but the swivel, its speed and touch
    assert np.array_equal(
        world.step(recording.actions[:, 10])[:, controlled], second[:, controlled]
    )


def test_the_same_seed_gives_the_same_recording_whatever_the_chunk():
    recording = collect(9, 40, 2, seed=1)
    again = collect(9, 40, 2, seed=1, chunk=4)
    assert np.array_equal(recording.observations, again.observations)
    assert np.array_equal(recording.actions, again.actions)
    assert not np.array_equal(recording.observations, collect(9, 40, 2, seed=2).observations)


def test_more_episodes_add_to_the_same_ones():
    assert np.array_equal(collect(3, 20).actions, collect(6, 20).actions[:3])


@pytest.mark.parametrize("num_blocks", [1, 2])
def test_worlds_in_a_batch_do_what_an_environment_does_alone(num_blocks):
    seeds, task_ids = range(6), [1, 2, 3, 4, 5, 5]
    tasks = [official_task(task_id, num_blocks) for task_id in task_ids]
    world, goals = start_tasks(tasks, Streams.from_seeds(seeds))
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 6, 5)).astype(np.float32)
    env = TabletopEnv(num_blocks)
    alone = []
    for seed, task_id, goal in zip(seeds, task_ids, goals, strict=True):
        observation, info = env.reset(seed=seed, options={"task_id": task_id})
        assert np.array_equal(info["goal"], goal)
        alone.append([observation, *(env.step(action[seed])[0] for action in actions)])
    batch = [world.observe(), *(world.step(action) for action in actions)]
    assert np.array_equal(np.array(alone).swapaxes(0, 1), np.array(batch))


def test_streams_read_ahead_without_changing_the_numbers():
    short = Streams([np.random.default_rng(i) for i in range(3)], read_ahead=5)
    numbers = np.concatenate([short.random((3, n)) for n in (2, 7, 3, 1, 12)], axis=1)
    assert np.array_equal(numbers, [np.random.default_rng(i).random(25) for i in range(3)])
    with pytest.raises(TabletopError, match="expected 3 rows"):
        short.random((4, 1))


# --- The scripted player ----------------------------------------------------------------------


def test_recording_has_the_shape_of_episodes():
    recording = collect(4, 25, 1)
    episodes = list(recording.episodes())
    assert len(recording) == len(episodes) == 4
    assert all(len(episode) == 25 for episode in episodes)
    assert recording.observations.dtype == recording.actions.dtype == np.float32
    assert np.abs(recording.actions).max() <= 1


def test_the_player_moves_blocks_everywhere():
    observations = collect(200, 200, 1, seed=0).observations
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
    blocks = blocks_of(collect(100, 200, 2, seed=0).observations)
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


# --- Tasks and the environment ----------------------------------------------------------------


@pytest.mark.parametrize("env_id", ENV_IDS.values())
def test_gymnasium_finds_nothing_to_complain_about(env_id):
    env = gymnasium.make(env_id, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_registered_environments_end_in_time():
    register_envs()  # twice is no harm
    for num_blocks, env_id in ENV_IDS.items():
        env = gymnasium.make(env_id)
        env.reset(seed=0)
        steps, truncated = 0, False
        while not truncated:
            *_, terminated, truncated, info = env.step(np.zeros(5, dtype=np.float32))
            assert not terminated
            assert info["success"] == 0.0
            steps += 1
        assert steps == HORIZONS[num_blocks]


@pytest.mark.parametrize("num_blocks", [1, 2])
def test_tasks_start_apart_from_their_goals(num_blocks):
    tasks = official_tasks(num_blocks)
    assert len({task.name for task in tasks}) == 5
    rng = np.random.default_rng(0)
    world, goals = start_tasks(tasks * 40, rng)
    layout = tabletop_layout(num_blocks)
    goal_set = GoalSet(goals, Query.parse("task", layout))
    assert not goal_set.contains(world.observe()).any()
    assert goal_set.contains(goals).all()
    assert not held_blocks(goals).any()
    # A goal is a state the world can be in: nothing falls, nothing jumps.
    world.set_state(goals)
    settled = world.step(np.zeros((200, 5)))
    assert np.allclose(blocks_of(settled), blocks_of(goals), atol=1e-6)
    apart = goals[:, None, EFF_POS] - blocks_of(goals)[..., :3]
    assert np.sqrt((apart**2).sum(axis=-1)).min() > 0.5


def test_success_is_a_distance_to_the_goal():
    env = TabletopEnv(2)
    _, info = env.reset(seed=0, options={"task_id": 2})
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(200):
        state = info["goal"].copy()
        for index in range(2):
            block(state, index)[:2] += rng.uniform(-0.4, 0.4, 2)
        env.set_state(state)
        observation, reward, terminated, truncated, step_info = env.step(np.zeros(5, np.float32))
        apart = blocks_of(observation)[:, :3] - blocks_of(info["goal"])[:, :3]
        expected = bool((np.sqrt((apart**2).sum(axis=-1)) <= 0.4).all())
        assert step_info["success"] == reward == float(expected)
        assert terminated == expected
        assert not truncated
        outcomes.add(expected)
    assert outcomes == {True, False}


def test_reset_draws_every_task_and_obeys_an_id():
    env = TabletopEnv(1)
    env.reset(seed=0)
    assert {env.reset()[1]["task_id"] for _ in range(60)} == {1, 2, 3, 4, 5}
    _, info = env.reset(options={"task_id": 4})
    assert info["task_name"] == env.task_infos[3].name == "task4_diagonal1"


def test_observations_stay_in_their_space():
    for num_blocks in (1, 2):
        space = TabletopEnv(num_blocks).observation_space
        observations = collect(50, 100, num_blocks).observations.reshape(-1, *space.shape)
        assert (observations >= space.low).all()
        assert (observations <= space.high).all()


# --- Errors -----------------------------------------------------------------------------------


def test_errors_say_what_was_expected_and_what_came():
    world = TabletopWorld(2, 1, np.random.default_rng(0))
    env = TabletopEnv(1)
    with pytest.raises(GoalsetsError, match=r"expected actions of shape \(2, 5\), got \(2, 4\)"):
        world.step(np.zeros((2, 4)))
    with pytest.raises(GoalsetsError, match="expected finite actions"):
        world.step(np.full((2, 5), np.nan))
    with pytest.raises(GoalsetsError, match=r"expected observations of shape \(2, 18\)"):
        world.set_state(np.zeros((2, 23)))
    with pytest.raises(GoalsetsError, match="expected finite observations"):
        world.set_state(np.full(18, np.inf))
    for task_id in (0, 6, "1"):
        with pytest.raises(GoalsetsError, match=f"task id from 1 to 5, got {task_id!r}"):
            env.reset(options={"task_id": task_id})
    for make in (tabletop_layout, TabletopEnv, official_tasks):
        with pytest.raises(GoalsetsError, match="expected 1 to 2 blocks, got 3"):
            make(3)
    with pytest.raises(GoalsetsError, match="at least one world, got 0"):
        TabletopWorld(0, 1, np.random.default_rng(0))
    with pytest.raises(GoalsetsError, match="num_episodes=0"):
        collect(0)
    with pytest.raises(GoalsetsError, match="at least one task"):
        start_tasks([], np.random.default_rng(0))
    with pytest.raises(gymnasium.error.ResetNeeded):
        TabletopEnv(1).step(np.zeros(5))


def test_goals_say_nothing_about_the_task_but_where_the_blocks_go():
    goals = goal_states(official_tasks(1) * 200, np.random.default_rng(0))
    task_ids = np.tile(np.arange(5), 200)
    means = np.array([goals[task_ids == i].mean(axis=0) for i in range(5)])
    beside_position = np.r_[0:13, 16:18]
    assert np.ptp(means[:, beside_position], axis=0).max() < 0.4
