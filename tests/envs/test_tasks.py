"""Tasks: the table agrees with the environments, on the states that they visit."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

from goalsets import GoalSet, Query
from goalsets.envs.tasks import TASKS, Task

OGBENCH = [task for _, task in TASKS.items() if not task.env_id.startswith("goalsets/")]
# Data sets of one environment share its layout: once is enough where nothing else differs.
ENVIRONMENTS = list({task.env_id: task for task in OGBENCH}.values())


@pytest.mark.parametrize("task", ENVIRONMENTS, ids=lambda task: task.env_id)
def test_table_fits_the_environment(task: Task) -> None:
    env = task.make()
    assert env.spec is not None
    assert env.spec.max_episode_steps == task.horizon
    assert env.observation_space.shape == (task.layout.dim,)
    assert task.relabel_horizon > 0
    for alias in task.layout.aliases:
        assert len(Query.parse(alias, task.layout)) > 0


def official_reference(task: Task, env: Any, goal: np.ndarray) -> np.ndarray:
    """The goal observation with the environment's exact targets.

    Environments take a few random steps before they observe the goal, so that the observed goal
    lies a hair beside the target by which they judge.
    """
    reference = np.array(goal, dtype=np.float64)
    inner = env.unwrapped
    if hasattr(inner, "cur_goal_xy"):
        reference[:2] = inner.cur_goal_xy
        return reference
    for cube, mocap in enumerate(inner._cube_target_mocap_ids):
        target = 10.0 * (inner._data.mocap_pos[mocap] - [0.425, 0.0, 0.0])
        reference[list(task.layout.group(f"block{cube}_pos").indices)] = target
    if hasattr(inner, "_target_drawer_pos"):
        reference[36] = 18.0 * inner._target_drawer_pos
        reference[38] = 15.0 * inner._target_window_pos
        for button, index in enumerate((28, 32)):
            reference[index : index + 2] = np.eye(2)[inner._target_button_states[button]]
    return reference


def disturb(env: Any, rng: np.random.Generator) -> np.ndarray:
    """Put the task's variables around their targets, about half of them inside; observe."""
    inner = env.unwrapped
    if hasattr(inner, "cur_goal_xy"):
        inner.set_xy(inner.cur_goal_xy + rng.uniform(-1.2, 1.2, 2) * inner._goal_tol)
        return inner.get_ob()
    spread = rng.choice([0.01, 0.04])
    for cube, mocap in enumerate(inner._cube_target_mocap_ids):
        offset = rng.uniform(-spread, spread, 3)
        inner._data.joint(f"object_joint_{cube}").qpos[:3] = inner._data.mocap_pos[mocap] + offset
    if hasattr(inner, "_target_drawer_pos"):
        for joint, target in (
            ("drawer_slide", inner._target_drawer_pos),
            ("window_slide", inner._target_window_pos),
        ):
            inner._data.joint(joint).qpos[0] = target + rng.uniform(-0.05, 0.05)
        keep = rng.random(2) < 0.8
        inner._cur_button_states = np.where(
            keep, inner._target_button_states, 1 - inner._target_button_states
        )
    mujoco.mj_forward(inner._model, inner._data)
    return inner.compute_observation()


def own_success(env: Any) -> bool:
    inner = env.unwrapped
    if hasattr(inner, "cur_goal_xy"):
        return bool(inner.compute_success())
    inner.post_step()
    return bool(inner._success)


def verdicts(task: Task, states: int) -> tuple[np.ndarray, np.ndarray]:
    """What the official predicate and the environment say of so many states around the goals."""
    rng = np.random.default_rng(0)
    env = task.make()
    told: list[tuple[bool, bool]] = []
    for task_id in range(1, 6):
        _, info = env.reset(seed=task_id, options={"task_id": task_id})
        goals = GoalSet(official_reference(task, env, info["goal"]), task.query)
        for _ in range(states // 5):
            observation = disturb(env, rng)
            told.append((bool(goals.contains(observation)), own_success(env)))
    ours, theirs = np.array(told).T
    return ours, theirs


@pytest.mark.full
@pytest.mark.parametrize("task", ENVIRONMENTS, ids=lambda task: task.env_id)
def test_goal_set_agrees_with_the_environment(task: Task) -> None:
    """The official predicate and the environment's own success, on a thousand states."""
    ours, theirs = verdicts(task, 1_000)
    assert (ours == theirs).all()
    assert 0.05 < ours.mean() < 0.95, "the states should lie on both sides"


@pytest.mark.slow
@pytest.mark.parametrize("task", [task for _, task in TASKS.items()], ids=lambda task: task.name)
def test_goal_set_agrees_with_the_environment_of_every_task(task: Task) -> None:
    """The same of every shipped task, on 5,000 states and more."""
    if task.env_id.startswith("goalsets/"):
        ours, theirs = tabletop_verdicts(task, 5_000)
    else:
        ours, theirs = verdicts(task, 5_000)
    assert len(ours) >= 5_000
    assert (ours == theirs).all()
    assert 0.05 < ours.mean() < 0.95, "the states should lie on both sides"


def tabletop_verdicts(task: Task, states: int) -> tuple[np.ndarray, np.ndarray]:
    """As `verdicts`: blocks are put around their places, and the world takes one step."""
    rng = np.random.default_rng(0)
    env = task.make()
    blocks = [name for name in task.layout.by_name if name.endswith("_pos") and "block" in name]
    told: list[tuple[bool, bool]] = []
    for task_id in range(1, 6):
        for _ in range(states // 5):
            observation, info = env.reset(seed=task_id, options={"task_id": task_id})
            placed = np.array(observation)
            spread = rng.choice([0.1, 0.4])
            for name in blocks:
                where = list(task.layout.group(name).indices[:2])
                placed[where] = info["goal"][where] + rng.uniform(-spread, spread, 2)
            env.unwrapped.set_state(placed)  # type: ignore[attr-defined]
            seen, _, _, _, after = env.step(np.zeros(5, dtype=np.float32))
            goals = GoalSet(info["goal"], task.query)
            told.append((bool(goals.contains(seen)), bool(after["success"])))
    ours, theirs = np.array(told).T
    return ours, theirs
