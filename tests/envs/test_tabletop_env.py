"""The tabletop's tasks and its environment: what success means, and what errors say."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from goalsets.core import GoalSet, GoalsetsError, Query
from goalsets.envs.tabletop import (
    ENV_IDS,
    HORIZONS,
    Streams,
    TabletopEnv,
    TabletopWorld,
    goal_states,
    held_blocks,
    official_task,
    official_tasks,
    record_play,
    register_envs,
    start_tasks,
    tabletop_layout,
)
from goalsets.envs.tabletop.layout import EFF_POS
from goalsets.envs.tabletop.states import blocks_of


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


@pytest.mark.parametrize("env_id", ENV_IDS.values())
def test_gymnasium_finds_nothing_to_complain_about(env_id):
    env = gymnasium.make(env_id, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)  # it raises what it finds
    assert isinstance(env.unwrapped, TabletopEnv)


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
            blocks_of(state)[index, :2] += rng.uniform(-0.4, 0.4, 2)
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
        observations = record_play(50, 100, num_blocks).observations.reshape(-1, *space.shape)
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
        record_play(0)
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
