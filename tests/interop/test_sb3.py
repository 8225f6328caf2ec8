"""Stable-Baselines3 trains on `GoalSetEnv`: with its own hindsight buffer, and with ours."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv

from goalsets import GoalSet, GoalsetsError, Query
from goalsets.core.packing import unpack_goal
from goalsets.envs.goalset_env import make_goalset_env
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.interop.sb3 import GoalSetReplayBuffer

LAYOUT = tabletop_layout(1)
EXAMPLE = Path(__file__).parents[2] / "examples" / "05_train_with_stable_baselines3.py"


def filled_buffer(kind: type, steps: int = 300, **settings: object):
    """A buffer after random steps in two environments, and the environments."""
    goals = record_play(5, 40, seed=0).observations.reshape(-1, LAYOUT.dim)
    queries = ("eff_pos", "eff_yaw", "gripper_opening")
    make = lambda: make_goalset_env(  # noqa: E731
        "tabletop-single-v0", queries=queries, goals=goals
    )
    venv = DummyVecEnv([make, make])
    np.random.seed(0)  # noqa: NPY002 - Stable-Baselines3 draws from it
    buffer = kind(1_000, venv.observation_space, venv.action_space, env=venv, n_envs=2, **settings)
    venv.seed(0)
    observation = venv.reset()
    rng = np.random.default_rng(0)
    for _ in range(steps):
        actions = rng.uniform(-1, 1, (2, 5)).astype(np.float32)
        following, rewards, dones, infos = venv.step(actions)
        last = {name: values.copy() for name, values in following.items()}
        for index in np.flatnonzero(dones):  # what follows is the start of the next episode
            for name, values in infos[index]["terminal_observation"].items():
                last[name][index] = values
        buffer.add(observation, last, actions, rewards, dones, infos)
        observation = following
    return buffer, venv


def asked(batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    references, masks = unpack_goal(batch.observations["desired_goal"].numpy())
    return references, masks, batch.next_observations["observation"].numpy()


def check_rewards(batch) -> float:
    """Each reward is what `GoalSet` says of the next state under the query in the goal."""
    references, masks, states = asked(batch)
    expected = [
        bool(GoalSet(goal, Query(LAYOUT, mask)).contains(state)) - 1.0
        for goal, mask, state in zip(references, masks, states, strict=True)
    ]
    assert batch.rewards.numpy()[:, 0].tolist() == expected
    return float(np.mean(expected)) + 1.0


def test_plain_buffer_relabels_under_the_episodes_query() -> None:
    buffer, _ = filled_buffer(HerReplayBuffer)
    batch = buffer.sample(200)
    assert 0.05 < check_rewards(batch) < 1.0
    _, masks, _ = asked(batch)
    assert (masks == (batch.observations["query"].numpy() > 0.5)).all()
    assert {tuple(np.flatnonzero(mask)) for mask in masks} == {(6, 7, 8), (9, 10), (11,)}


@pytest.mark.parametrize("queries", [None, "semantic"])
def test_our_buffer_redraws_the_query(queries: str | None) -> None:
    buffer, _ = filled_buffer(GoalSetReplayBuffer, queries=queries)
    batch = buffer.sample(400)
    share = check_rewards(batch)
    assert 0.05 < share < 1.0
    _, masks, _ = asked(batch)
    for part in (batch.observations, batch.next_observations):
        assert (part["query"].numpy() == masks).all()
        shown, carried = unpack_goal(part["achieved_goal"].numpy())
        assert (carried == masks).all()
        assert (shown == np.where(masks, part["observation"].numpy(), 0.0)).all()
    count = len({tuple(np.flatnonzero(mask)) for mask in masks})
    assert count == 3 if queries is None else count > 20
    # A relabeled transition ends exactly where it is at its new goal.
    virtual = slice(400 - int(buffer.her_ratio * 400), None)
    ended = batch.dones.numpy()[virtual, 0]
    assert (ended == batch.rewards.numpy()[virtual, 0] + 1.0).all()
    assert 0 < ended.mean() < 1


def test_references_come_later_in_the_same_episode() -> None:
    buffer, _ = filled_buffer(GoalSetReplayBuffer, queries="full")
    batch = buffer.sample(300)
    virtual = slice(300 - int(buffer.her_ratio * 300), None)
    references, masks, states = (array[virtual] for array in asked(batch))
    assert masks.all()
    recorded = buffer.next_observations["observation"]
    for reference, state in zip(references, states, strict=True):
        goal_at = np.argwhere((recorded == reference).all(-1))[0]
        state_at = np.argwhere((recorded == state).all(-1))[0]
        assert goal_at[1] == state_at[1], "of another environment"
        assert goal_at[0] >= state_at[0], "from the past"
        assert buffer.ep_start[tuple(goal_at)] == buffer.ep_start[tuple(state_at)]


def test_seed_decides_the_batches() -> None:
    batches = []
    for _ in range(2):
        buffer, _ = filled_buffer(GoalSetReplayBuffer, queries="blockwise")
        np.random.seed(5)  # noqa: NPY002 - as above
        batches.append(buffer.sample(50).observations["desired_goal"])
    assert (batches[0] == batches[1]).all()


def test_other_environments_are_refused() -> None:
    import gymnasium

    venv = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])
    space = make_goalset_env("tabletop-single-v0").observation_space
    with pytest.raises(GoalsetsError, match="needs environments that are GoalSetEnvs"):
        GoalSetReplayBuffer(100, space, venv.action_space, env=venv)


@pytest.mark.full
def test_a_model_trains_saves_and_loads(tmp_path: Path) -> None:
    make = lambda: make_goalset_env("tabletop-single-v0", queries=("eff_pos", "eff_yaw"))  # noqa: E731
    model = SAC(
        "MultiInputPolicy",
        DummyVecEnv([make]),
        replay_buffer_class=GoalSetReplayBuffer,
        learning_starts=110,
        buffer_size=1_000,
        policy_kwargs={"net_arch": [16]},
        seed=0,
    )
    model.learn(130)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    again = SAC.load(tmp_path / "model", env=DummyVecEnv([make]))
    again.load_replay_buffer(tmp_path / "buffer", truncate_last_traj=False)
    assert again.replay_buffer.size() == model.replay_buffer.size() == 130
    observation, _ = make().reset(seed=0)
    saved, loaded = (m.predict(observation, deterministic=True)[0] for m in (model, again))
    assert loaded.shape == (5,)
    np.testing.assert_array_equal(loaded, saved)
    again.learn(20, reset_num_timesteps=False)
    assert (again.predict(observation, deterministic=True)[0] != saved).any(), "it did not learn"


@pytest.mark.slow
def test_one_policy_answers_two_questions() -> None:
    """The example as it stands: at least 80 % on each of two queries."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True
    )
    rates = dict(re.findall(r"^(eff_\w+) +(\d+) %", done.stdout, re.MULTILINE))
    assert set(rates) == {"eff_pos", "eff_yaw"}
    assert min(map(int, rates.values())) >= 80, done.stdout
