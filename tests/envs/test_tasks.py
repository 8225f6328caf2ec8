"""Tasks: the table agrees with the environments, on the states that they visit."""

from __future__ import annotations

import functools
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
import torch
from ogbench.relabel_utils import add_oracle_reps

from goalsets import GoalSet, Query
from goalsets.condition import TaskConditioner
from goalsets.envs.tasks import TASKS, Task

OGBENCH = [task for _, task in TASKS.items() if not task.env_id.startswith("goalsets/")]
# Data sets of one environment share its layout: once is enough where nothing else differs.
ENVIRONMENTS = list({task.env_id: task for task in OGBENCH}.values())


@functools.cache
def environment(task: Task) -> Any:
    """Made once for all tests: compiling its model takes longer than most of them."""
    return task.make()


@pytest.mark.parametrize("task", OGBENCH, ids=lambda task: task.name)
def test_table_fits_the_registered_environment(task: Task) -> None:
    assert gymnasium.spec(task.env_id).max_episode_steps == task.horizon
    assert 0 < task.relabel_horizon <= max(task.horizon, 1000)
    assert task.name.startswith(task.env_id.removesuffix("v0"))
    for name in task.layout.vocabulary:
        assert len(Query.parse(name, task.layout)) > 0
    assert all(owner is not None for owner in task.layout.owners), "every coordinate has a name"


def test_every_state_based_environment_has_a_task() -> None:
    others = ("visual-", "online-", "powderworld-")
    theirs = {
        name
        for name, spec in gymnasium.registry.items()
        if "ogbench" in str(spec.entry_point)
        and not name.startswith(others)
        and "singletask" not in name
    }
    # Its model lacks a material: the package cannot build it.
    assert theirs - {"humanoidmaze-teleport-v0"} == {task.env_id for task in OGBENCH}


def test_horizons_are_those_of_the_paper() -> None:
    h_max = {name: task.relabel_horizon for name, task in TASKS.items()}
    for data in ("play", "noisy"):
        assert h_max[f"cube-single-{data}-v0"] == 200
        assert h_max[f"cube-double-{data}-v0"] == 500
    assert h_max["scene-play-v0"] == 1000
    assert h_max["pointmaze-medium-navigate-v0"] == 500
    assert h_max["pointmaze-large-navigate-v0"] == 1000
    assert h_max["antmaze-medium-navigate-v0"] == 1000


def has_ball(env: Any) -> bool:
    return hasattr(env.unwrapped, "get_agent_ball_xy")


def is_maze(env: Any) -> bool:
    return hasattr(env.unwrapped, "cur_goal_xy")


def official_reference(task: Task, env: Any, goal: np.ndarray) -> np.ndarray:
    """The goal observation with the environment's exact targets.

    Environments take a few random steps before they observe the goal, so that the observed goal
    lies a hair beside the target by which they judge.
    """
    reference = np.array(goal, dtype=np.float64)
    inner = env.unwrapped
    groups = task.layout.by_name
    if is_maze(env):
        reference[list(task.query.indices)] = inner.cur_goal_xy
        return reference
    for cube, mocap in enumerate(getattr(inner, "_cube_target_mocap_ids", ())):
        target = 10.0 * (inner._data.mocap_pos[mocap] - [0.425, 0.0, 0.0])
        reference[list(groups[f"block{cube}_pos"].indices)] = target
    for button, state in enumerate(getattr(inner, "_target_button_states", ())):
        reference[list(groups[f"button{button}_state"].indices)] = np.eye(2)[state]
    if hasattr(inner, "_target_drawer_pos"):
        reference[list(groups["drawer_pos"].indices)] = 18.0 * inner._target_drawer_pos
        reference[list(groups["window_pos"].indices)] = 15.0 * inner._target_window_pos
    return reference


def disturb(env: Any, rng: np.random.Generator) -> np.ndarray:
    """Put the task's variables around their targets, about half of them inside; observe."""
    inner = env.unwrapped
    if is_maze(env):
        xy = inner.cur_goal_xy + rng.uniform(-1.2, 1.2, 2) * inner._goal_tol
        if has_ball(env):
            # The ant is elsewhere: only the ball counts.
            inner.set_agent_ball_xy(xy + rng.choice([-2.0, 2.0], 2), xy)
        else:
            inner.set_xy(xy)
        return inner.get_ob()
    spread = rng.choice([0.01, 0.04])
    for cube, mocap in enumerate(getattr(inner, "_cube_target_mocap_ids", ())):
        offset = rng.uniform(-spread, spread, 3)
        inner._data.joint(f"object_joint_{cube}").qpos[:3] = inner._data.mocap_pos[mocap] + offset
    if hasattr(inner, "_target_drawer_pos"):
        for joint, target in (
            ("drawer_slide", inner._target_drawer_pos),
            ("window_slide", inner._target_window_pos),
        ):
            inner._data.joint(joint).qpos[0] = target + rng.uniform(-0.05, 0.05)
    if hasattr(inner, "_target_button_states"):
        targets = inner._target_button_states
        keep = rng.random(len(targets)) < 0.6 ** (1 / len(targets))
        inner._cur_button_states = np.where(keep, targets, 1 - targets)
    mujoco.mj_forward(inner._model, inner._data)
    return inner.compute_observation()


def own_success(env: Any) -> bool:
    inner = env.unwrapped
    if is_maze(env):
        return bool(inner.compute_success())
    # Not by `post_step`, which would turn once more the buttons that the last step pressed.
    return all(np.all(part) for part in inner._compute_successes())


def random_action(env: Any, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1.0, 1.0, env.action_space.shape)


def verdicts(task: Task, states: int) -> np.ndarray:
    """Our verdict and the environment's, `bool[5 * 2 * states, 2]`.

    For each of the five official goals, states around it, and where a random step leads from there.
    """
    rng = np.random.default_rng(0)
    env = environment(task)
    found: list[tuple[bool, bool]] = []
    for task_id in range(1, 6):
        _, info = env.reset(seed=task_id, options={"task_id": task_id})
        goals = GoalSet(official_reference(task, env, info["goal"]), task.query)
        for _ in range(states):
            observation = disturb(env, rng)
            found.append((bool(goals.contains(observation)), own_success(env)))
            visited, _, _, _, info = env.unwrapped.step(random_action(env, rng))
            found.append((bool(goals.contains(visited)), bool(info["success"])))
    return np.array(found)


@pytest.mark.full
@pytest.mark.parametrize("task", ENVIRONMENTS, ids=lambda task: task.env_id)
def test_goal_set_agrees_with_the_environment(task: Task) -> None:
    """The official predicate and the environment's own success, on a few hundred states."""
    assert environment(task).observation_space.shape == (task.layout.dim,)
    ours, theirs = verdicts(task, 30).T
    assert (ours == theirs).all()
    assert 0.05 < ours.mean() < 0.95, "the states should lie on both sides"


@pytest.mark.slow
@pytest.mark.parametrize("task", ENVIRONMENTS, ids=lambda task: task.env_id)
def test_goal_set_agrees_with_the_environment_on_thousands_of_states(task: Task) -> None:
    ours, theirs = verdicts(task, 500).T
    assert len(ours) >= 5_000
    assert (ours == theirs).all()
    print(f"{task.env_id}: {len(ours)} verdicts agree, {ours.sum()} of them success")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tabletop-single-v0", "tabletop-double-v0"])
def test_goal_set_agrees_with_the_tabletop(name: str) -> None:
    ours, theirs = tabletop_verdicts(TASKS[name], 5_000)
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


def projection(task: Task, states: np.ndarray) -> np.ndarray:
    """What HER-Task shows a policy of states `[N, D]` that are goals."""
    goals = torch.from_numpy(states)
    conditioner = TaskConditioner(task.query.indices)
    return conditioner.goal_input(goals, torch.ones_like(goals, dtype=torch.bool)).numpy()


# In every environment the projection *is* the oracle representation: the same coordinates in the
# same order and scale. Of a button, OGBench gives the state 0 or 1, which is the second coordinate
# of its one-hot pair; positions have the scale and centre of the observation in both.


@pytest.mark.full
@pytest.mark.parametrize("task", ENVIRONMENTS, ids=lambda task: task.env_id)
def test_task_projection_is_the_oracle_representation_of_goals(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an `oraclerep` environment gives as its goal, and the state that this goal is of."""
    env = environment(task)
    inner = env.unwrapped
    observe = inner.get_ob if is_maze(env) else inner.compute_observation
    name = "get_oracle_rep" if is_maze(env) else "compute_oracle_observation"
    represent = getattr(inner, name)
    seen: list[np.ndarray] = []

    def look_and_represent():
        seen.append(observe())
        return represent()

    monkeypatch.setattr(inner, "_use_oracle_rep", True)
    monkeypatch.setattr(inner, name, look_and_represent)
    theirs = []
    for task_id in range(1, 6):
        _, info = env.reset(seed=task_id, options={"task_id": task_id})
        theirs.append(info["goal"])
    np.testing.assert_array_equal(projection(task, np.stack(seen)), np.stack(theirs))


@pytest.mark.full
@pytest.mark.parametrize("task", ENVIRONMENTS, ids=lambda task: task.env_id)
def test_task_projection_is_the_oracle_representation_of_data(task: Task) -> None:
    """What OGBench adds to its data sets as `oracle_reps`, on states that are visited."""
    env = environment(task)
    env.reset(seed=0, options={"task_id": 1})
    rng = np.random.default_rng(0)
    columns: dict[str, list[np.ndarray]] = {"observations": [], "qpos": [], "button_states": []}
    for step in range(40):
        if step % 4 == 0:
            disturb(env, rng)
        observation, _, _, _, info = env.unwrapped.step(random_action(env, rng))
        columns["observations"].append(observation)
        columns["qpos"].append(info["qpos"])
        columns["button_states"].append(info.get("button_states", np.zeros(0)))
    data = {key: np.stack(values) for key, values in columns.items()}
    add_oracle_reps(task.env_id, env, data)
    # OGBench rounds its representation to single precision.
    ours = projection(task, data["observations"])
    np.testing.assert_allclose(ours, data["oracle_reps"], rtol=1e-6, atol=1e-6)
