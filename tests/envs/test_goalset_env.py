"""GoalSetEnv: Gymnasium's own checks, rewards that `GoalSet` agrees with, questions at reset."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from goalsets import GoalSet, GoalsetsError, Group, Query, StateLayout
from goalsets.core.packing import pack_goal, unpack_goal
from goalsets.envs.episode_queries import Listed
from goalsets.envs.goalset_env import ENV_ID, GoalSetEnv, make_goalset_env
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.envs.tasks import TASKS
from goalsets.relabel.queries import Semantic

LAYOUT = tabletop_layout(1)
STATES = record_play(5, 40, seed=0).observations.reshape(-1, LAYOUT.dim)


@pytest.mark.parametrize("task", ["tabletop-single-v0", "tabletop-double-v0"])
def test_gymnasium_finds_nothing_to_complain_of(task: str) -> None:
    """Warnings are errors here: the checker's hints count, too."""
    env = gymnasium.make(ENV_ID, task=task, queries=Semantic())
    assert isinstance(env.unwrapped, GoalSetEnv)
    check_env(env.unwrapped)  # it raises what it finds


@pytest.mark.full
@pytest.mark.parametrize(
    "task", ["cube-single-noisy-v0", "pointmaze-medium-navigate-v0", "antmaze-medium-navigate-v0"]
)
def test_gymnasium_accepts_ogbench_tasks(task: str) -> None:
    pytest.importorskip("ogbench")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # OGBench's spaces have no bounds, which is told
        env = gymnasium.make(ENV_ID, task=task)
        check_env(env.unwrapped, skip_render_check=True)  # it raises what it finds
        observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert observation["observation"].shape == (TASKS[task].layout.dim,)


def test_judgement_is_that_of_goal_sets() -> None:
    """Thousands of pairs under many queries, at once: each as `GoalSet` says."""
    env = make_goalset_env("tabletop-single-v0")
    rng = np.random.default_rng(0)
    for text in ("task", "eff_pos & eff_yaw", "gripper_opening", "all - joint_vel"):
        query = Query.parse(text, LAYOUT)
        # Neighbours in time, so that some pairs are near and some far.
        rows = rng.integers(0, len(STATES) - 8, 500)
        states, references = STATES[rows], STATES[rows + rng.integers(0, 8, 500)]
        expected = GoalSet(references, query).contains(states)
        assert 0 < expected.mean() < 1, "the pairs decide nothing"
        goals = pack_goal(states, query.mask), pack_goal(references, query.mask)
        rewards = env.compute_reward(*goals, [{}] * 500)
        assert rewards.dtype == np.float32
        assert (rewards == expected - 1.0).all()
        assert (env.compute_terminated(*goals, {}) == expected).all()
        assert not env.compute_truncated(*goals, {}).any()
        assert env.compute_reward(goals[0][0], goals[1][0], {}) == expected[0] - 1.0
        assert env.compute_terminated(goals[0][0], goals[1][0], {}) is bool(expected[0])


def test_steps_agree_with_what_is_computed_from_observations() -> None:
    env = make_goalset_env("tabletop-single-v0", queries="eff_yaw", goals=STATES)
    seen = set()
    for seed in range(5):
        env.reset(seed=seed)
        env.action_space.seed(seed)
        for _ in range(60):
            observation, reward, terminated, _, info = env.step(env.action_space.sample())
            goals = observation["achieved_goal"], observation["desired_goal"]
            assert reward == env.compute_reward(*goals, info)
            assert terminated is env.compute_terminated(*goals, info)
            assert info["is_success"] is info["success"] is terminated
            seen.add(reward)
            if terminated:
                break
    assert seen == {-1.0, 0.0}


def test_goals_hide_what_is_not_asked() -> None:
    env = make_goalset_env("tabletop-single-v0")
    observation, info = env.reset(seed=0, options={"goal": STATES[9], "query": "eff_pos & eff_yaw"})
    mask = Query.parse("ee_pose", LAYOUT).mask
    assert (observation["query"] == mask).all()
    reference, asked = unpack_goal(observation["desired_goal"])
    assert (asked == mask).all()
    assert (reference[mask] == STATES[9][mask]).all()
    assert (reference[~mask] == 0).all()
    achieved, _ = unpack_goal(observation["achieved_goal"])
    assert (achieved[mask] == observation["observation"][mask]).all()
    assert (achieved[~mask] == 0).all()
    assert (info["goal"] == STATES[9]).all()
    assert info["query"] == "eff_pos & eff_yaw"


def test_seed_decides_the_question_and_options_reach_the_environment() -> None:
    env = make_goalset_env("tabletop-single-v0", queries=Semantic(), goals=STATES)
    first, info = env.reset(seed=3, options={"task_id": 2})
    assert info["task_id"] == 2
    asked = {env.reset()[1]["query"] for _ in range(20)}
    assert len(asked) > 5
    again, _ = env.reset(seed=3, options={"task_id": 2})
    assert all((first[name] == again[name]).all() for name in first)
    bare = gymnasium.make("goalsets/TabletopSingle-v0")
    assert (bare.reset(seed=3, options={"task_id": 2})[0] == first["observation"]).all()


def test_drawn_goals_are_not_reached_already() -> None:
    env = make_goalset_env("tabletop-single-v0", queries="gripper_opening", goals=STATES)
    assert not any(env.reset(seed=seed)[1]["success"] for seed in range(30))


def test_the_environments_own_goal_neither_ends_nor_rewards() -> None:
    """The block lies where the table's own task wants it, and something else is asked."""
    env = make_goalset_env("tabletop-single-v0", queries="eff_pos", goals=STATES)
    _, info = env.reset(seed=0, options={"task_id": 1, "goal": STATES[3]})
    env.env.unwrapped.set_state(env.env.reset(seed=0, options={"task_id": 1})[1]["goal"])
    _, reward, terminated, _, info = env.step(np.zeros(5, np.float32))
    assert (reward, terminated, info["success"]) == (-1.0, False, False)


class Falls(gymnasium.Env):
    """An environment that ends for reasons of its own, with a layout and without goals."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1, 1, (2,), np.float64)
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2), {}

    def step(self, action):
        return np.array([0.5, action[0]]), 7.0, True, False, {}


PLAIN = StateLayout(2, [Group("x", (0,), "absolute", tolerance=0.1), Group("y", (1,), "absolute")])


def test_any_environment_with_a_layout() -> None:
    env = GoalSetEnv(Falls(), layout=PLAIN, tolerances={"y": 0.2}, queries=("x", "y"))
    observation, _ = env.reset(seed=0, options={"goal": [0.5, 0.0], "query": "x"})
    assert observation in env.observation_space
    _, reward, terminated, _, info = env.step(np.ones(1, np.float32))
    assert (reward, terminated, info["success"]) == (0.0, True, True)
    env.reset(options={"goal": [0.5, 0.5], "query": "y"})
    _, reward, terminated, _, info = env.step(np.ones(1, np.float32))
    assert (reward, terminated, info["success"]) == (-1.0, True, False), "it fell"


def test_epsilon_rewards_and_going_on() -> None:
    env = GoalSetEnv(Falls(), layout=PLAIN, epsilon=0.05, negative=False, terminate=False)
    achieved = pack_goal(np.array([[0.5, 0.5], [0.5, 0.9]], np.float32), np.array([True, True]))
    desired = pack_goal(np.array([0.5, 0.6], np.float32), np.array([True, True]))
    # d_q: 0.005 and 0.045, then without the first coordinate 0.01 and 0.09.
    assert (env.compute_reward(achieved, desired, {}) == [1.0, 1.0]).all()
    only = pack_goal(np.array([0.5, 0.6], np.float32), np.array([False, True]))
    assert (env.compute_reward(achieved, only, {}) == [1.0, 0.0]).all()
    assert not env.compute_terminated(achieved, desired, {}).any()


def test_listed_queries_hold_their_marginals() -> None:
    listed = Listed(("eff_pos", "eff_pos & eff_yaw"))
    drawn = listed.sample(LAYOUT, 4_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), listed.marginals(LAYOUT), atol=0.03)


def test_errors_say_what_to_do() -> None:
    env = make_goalset_env("tabletop-single-v0")
    for message, act in {
        "has no layout of its own: give GoalSetEnv a layout": lambda: GoalSetEnv(Falls()),
        r"layout 'tabletop-single' needs observations of shape (18,)": lambda: GoalSetEnv(
            Falls(), layout=LAYOUT
        ),
        "has no tolerance for y: give GoalSetEnv these tolerances, or one epsilon": lambda: (
            GoalSetEnv(Falls(), layout=PLAIN)
        ),
        "tolerances={'eff_pos': 0.2}": lambda: env.reset(options={"query": "eff_pos:2cm"}),
        "unknown group 'eff_po': did you mean 'eff_pos'": lambda: env.reset(
            options={"query": "eff_po"}
        ),
        "must have shape [N, 18], got [1, 3]": lambda: env.reset(options={"goal": np.zeros(3)}),
        "goals must be finite": lambda: env.reset(options={"goal": np.full(18, np.nan)}),
        "gives no goal in info['goal']": lambda: GoalSetEnv(
            Falls(), layout=PLAIN, epsilon=0.1
        ).reset(),
        "unknown task 'tabletop-singel-v0'": lambda: make_goalset_env("tabletop-singel-v0"),
        "a packed goal has a reference and a mask of one length": lambda: env.compute_reward(
            np.zeros(3), np.zeros(3), {}
        ),
    }.items():
        with pytest.raises(GoalsetsError) as caught:
            act()
        assert message in str(caught.value)
