"""Environments that observe dictionaries: joined in a stated order, with a layout from the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from goalsets import GoalsetsError, Group, StateLayout
from goalsets.core.packing import unpack_goal
from goalsets.data import from_episodes
from goalsets.envs.goalset_env import GoalSetEnv

TOLERANCES = {"arm.pos": 0.1, "arm.vel": 0.5, "light": 0.5}


class Arm(gymnasium.Env[Any, Any]):
    """A point that is told where to go by its velocity; its dictionary is out of order."""

    observation_space = spaces.Dict(
        {
            "light": spaces.Discrete(2),
            "camera": spaces.Box(0, 255, (8, 8, 3), np.uint8),
            "arm": spaces.Dict(
                {
                    "vel": spaces.Box(-1, 1, (2,), np.float32),
                    "pos": spaces.Box(-5, 5, (2,), np.float32),
                }
            ),
        }
    )
    action_space = spaces.Box(-1, 1, (2,), np.float32)
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
    render_mode = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.pos = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        self.vel = np.zeros(2, np.float32)
        return self._observe(), {}

    def step(self, action: Any):
        self.vel = np.clip(action, -1, 1).astype(np.float32)
        self.pos = np.clip(self.pos + 0.1 * self.vel, -5, 5).astype(np.float32)
        return self._observe(), 0.0, False, False, {}

    def _observe(self) -> dict[str, Any]:
        return {
            "light": np.int64(1),
            "camera": np.zeros((8, 8, 3), np.uint8),
            "arm": {"vel": self.vel, "pos": self.pos},
        }


GOALS = np.array([[2.0, 2.0, 0.0, 0.0, 1.0]], np.float32)


def test_the_state_is_the_sorted_vectors_and_each_key_is_a_group() -> None:
    env = GoalSetEnv(Arm(), tolerances=TOLERANCES, queries="arm.pos", goals=GOALS)
    assert [(group.name, tuple(group.indices)) for group in env.layout.groups] == [
        ("arm.pos", (0, 1)),
        ("arm.vel", (2, 3)),
        ("light", (4,)),
    ]
    observation, info = env.reset(seed=3)
    inner = env.env.unwrapped
    assert observation["observation"].tolist() == [*inner.pos, *inner.vel, 1.0]
    assert info["query"] == "arm.pos"
    space = env.observation_space["observation"]
    assert space.low.tolist() == [-5, -5, -1, -1, -np.inf]
    for _ in range(60):
        towards = GOALS[0, :2] - observation["observation"][:2]
        observation, reward, terminated, _, info = env.step(np.clip(10 * towards, -1, 1))
        if terminated:
            break
    assert info["is_success"]
    assert reward == 0.0
    assert np.abs(observation["observation"][:2] - 2.0).max() < 0.15


def test_gymnasium_finds_nothing_to_complain_of() -> None:
    keys = ("arm.pos", "arm.vel")
    env = GoalSetEnv(
        Arm(), keys=keys, tolerances={k: TOLERANCES[k] for k in keys}, goals=GOALS[:, :4]
    )
    check_env(env, skip_render_check=True)


def test_named_keys_decide_the_order() -> None:
    keys = ("light", "arm.pos")
    env = GoalSetEnv(Arm(), keys=keys, epsilon=0.1, goals=[[1.0, 0.0, 0.0]])
    state = env.reset(seed=0)[0]["observation"]
    assert state.tolist() == [1.0, *env.env.unwrapped.pos]


def test_logs_of_the_environment_and_the_environment_have_one_layout(tmp_path: Path) -> None:
    env = Arm()
    first = env.reset(seed=0)[0]
    observed, actions = [first], []
    for _ in range(10):
        actions.append(env.action_space.sample())
        observed.append(env.step(actions[-1])[0])
    log = {
        "light": np.stack([o["light"] for o in observed]),
        "arm": {key: np.stack([o["arm"][key] for o in observed]) for key in ("pos", "vel")},
    }
    taken = from_episodes([{"observations": log, "actions": np.stack(actions)}] * 3, tmp_path / "s")
    ours = GoalSetEnv(Arm(), tolerances=TOLERANCES, goals=GOALS).layout
    assert [(g.name, g.indices) for g in taken.layout.groups] == [
        (g.name, g.indices) for g in ours.groups
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"keys": ("arm.speed",)}, "unknown observation key 'arm.speed'"),
        ({"keys": ("camera",)}, "images and text cannot be part of a state"),
        (
            {"layout": StateLayout(3, [Group("place", range(3))])},
            r"has 5 in arm.pos, arm.vel, light",
        ),
        ({"goals": GOALS}, "has no tolerance for arm.pos"),
    ],
)
def test_what_does_not_fit_is_said(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(GoalsetsError, match=said):
        GoalSetEnv(Arm(), **settings)


def test_an_environment_without_goals_says_that_it_needs_some() -> None:
    env = GoalSetEnv(Arm(), tolerances=TOLERANCES)
    with pytest.raises(GoalsetsError, match="give GoalSetEnv goals to draw from"):
        env.reset(seed=0)


class Reach(Arm):
    """As Gymnasium-Robotics does it: the state, and goals beside it."""

    observation_space = spaces.Dict(
        {
            "observation": spaces.Box(-5, 5, (4,), np.float32),
            "achieved_goal": spaces.Box(-5, 5, (2,), np.float32),
            "desired_goal": spaces.Box(-5, 5, (2,), np.float32),
        }
    )

    def _observe(self) -> dict[str, Any]:
        return {
            "observation": np.concatenate((self.pos, self.vel)),
            "achieved_goal": self.pos,
            "desired_goal": np.array([2.0, -2.0], np.float32),
        }


def test_the_goals_of_a_goal_environment_are_no_part_of_the_state() -> None:
    groups = [Group("pos", range(2), tolerance=0.1), Group("vel", (2, 3), tolerance=0.1)]
    env = GoalSetEnv(Reach(), layout=StateLayout(4, groups, task="pos"))
    observation, info = env.reset(seed=0)
    assert observation["observation"].tolist() == [*env.env.unwrapped.pos, 0.0, 0.0]
    goal, mask = unpack_goal(observation["desired_goal"])
    assert (goal.tolist(), mask.tolist()) == ([2.0, -2.0, 0.0, 0.0], [True, True, False, False])
    assert info["query"] == "pos"
    with pytest.raises(GoalsetsError, match="give GoalSetEnv goals to draw from"):
        GoalSetEnv(Reach(), tolerances={"observation": 0.1}).reset(seed=0)
