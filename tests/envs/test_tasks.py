"""Tasks: each keeps its contract, and those that are OGBench's agree with OGBench.

What a task promises is asked of every task in the registry, whoever made it. It is compared with
OGBench only where its environment is OGBench's own.
"""

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
from goalsets.collect import RECIPES
from goalsets.condition import TaskConditioner
from goalsets.envs.tabletop import TabletopEnv
from goalsets.envs.tasks import TASKS, Task
from goalsets.report.published import published_tasks

ALL = [task for _, task in TASKS.items()]


def is_ogbenchs(env_id: str) -> bool:
    spec = gymnasium.registry.get(env_id)
    return spec is not None and str(spec.entry_point).startswith("ogbench.")


OGBENCH = [task for task in ALL if is_ogbenchs(task.env_id)]
# Data sets of one environment share its layout: once is enough where nothing else differs.
ENVIRONMENTS = list({task.env_id: task for task in OGBENCH}.values())
# To build a model takes a second, so `make check` leaves OGBench's out.
EVERY_ENVIRONMENT = [
    pytest.param(task, id=env_id, marks=pytest.mark.full if task in OGBENCH else ())
    for env_id, task in {task.env_id: task for task in ALL}.items()
]


@functools.cache
def environment(task: Task) -> Any:
    """Made once for all tests: compiling its model takes longer than most of them."""
    return task.make()


@pytest.mark.parametrize("name", TASKS)
def test_a_task_means_something(name: str) -> None:
    task, layout = TASKS[name], TASKS[name].layout
    assert task.name == name
    assert task.horizon > 0
    assert task.relabel_horizon > 0
    covered = [index for group in layout.groups for index in group.indices]
    assert set(covered) <= set(range(layout.dim))
    assert len(set(covered)) == len(covered), "two groups share a coordinate"
    assert len(set(layout.vocabulary)) == len(layout.vocabulary), "a name means two things"
    for word in layout.vocabulary:
        assert len(Query.parse(word, layout)) > 0
    for term in task.query.terms:
        assert term.tolerance is not None, f"nothing says how near {term.name} must be"


@pytest.mark.parametrize("task", EVERY_ENVIRONMENT)
def test_an_episode_has_states_and_a_goal_of_the_layout(task: Task) -> None:
    env = environment(task)
    assert env.observation_space.shape == (task.layout.dim,)
    for task_id in range(1, 6):
        observation, info = env.reset(seed=0, options={"task_id": task_id})
        assert observation.shape == info["goal"].shape == (task.layout.dim,)
        assert not GoalSet(info["goal"], task.query).contains(observation), "it starts at its goal"


@pytest.mark.parametrize("task", OGBENCH, ids=lambda task: task.name)
def test_table_fits_the_registered_environment(task: Task) -> None:
    assert gymnasium.spec(task.env_id).max_episode_steps == task.horizon
    assert task.name.startswith(task.env_id.removesuffix("v0"))
    assert all(owner is not None for owner in task.layout.owners), "every coordinate has a name"


def test_every_state_based_environment_has_a_task() -> None:
    others = ("visual-", "online-", "powderworld-")
    theirs = {
        name
        for name in gymnasium.registry
        if is_ogbenchs(name) and not name.startswith(others) and "singletask" not in name
    }
    # Its model lacks a material: the package cannot build it.
    assert theirs - {"humanoidmaze-teleport-v0"} == {task.env_id for task in OGBENCH}


@pytest.mark.parametrize("name", sorted(set(RECIPES) - set(published_tasks())))
def test_goals_lie_as_far_ahead_as_the_shorter_episode_is_long(name: str) -> None:
    """Of the data and of the evaluation; the paper's own tasks have its numbers instead."""
    task = TASKS[name]
    assert task.relabel_horizon == min(RECIPES[name].length - 1, task.horizon)


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
    """Put the task's variables around OGBench's targets, about half of them inside; observe."""
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


def random_action(env: Any, rng: np.random.Generator) -> Any:
    """Drawn by our generator: OGBench makes a new space, without a seed, at every look."""
    space = env.action_space
    if isinstance(space, gymnasium.spaces.Box):
        return rng.uniform(-1.0, 1.0, space.shape)
    return space.sample()


def put_blocks_near(env: Any, goal: np.ndarray, rng: np.random.Generator) -> None:
    """On a tabletop, put every block around its place."""
    layout, state, spread = env.unwrapped.layout, goal.copy(), rng.choice([0.1, 0.5])
    for group in layout.groups:
        if group.name.startswith("block") and group.name.endswith("_pos"):
            state[list(group.indices[:2])] += rng.uniform(-spread, spread, 2)
    env.unwrapped.set_state(state)


def verdicts(task: Task, states: int) -> np.ndarray:
    """Our verdict and the environment's, `bool[N, 2]`.

    For each of the five official goals, states around it, and where a random step leads from there.
    Where we cannot put an environment into a state, they are those of an episode.
    """
    rng = np.random.default_rng(0)
    env = environment(task)
    env.action_space.seed(0)
    found: list[tuple[bool, bool]] = []
    for task_id in range(1, 6):
        _, info = env.reset(seed=task_id, options={"task_id": task_id})
        goal = official_reference(task, env, info["goal"]) if task in OGBENCH else info["goal"]
        goals = GoalSet(goal, task.query)
        for _ in range(states):
            if task in OGBENCH:
                observation = disturb(env, rng)
                found.append((bool(goals.contains(observation)), own_success(env)))
            elif isinstance(env.unwrapped, TabletopEnv):
                put_blocks_near(env, goal, rng)
            visited, _, _, _, info = env.unwrapped.step(random_action(env, rng))
            found.append((bool(goals.contains(visited)), bool(info["success"])))
    return np.array(found)


def check_verdicts(task: Task, states: int) -> np.ndarray:
    ours, theirs = verdicts(task, states).T
    assert (ours == theirs).all()
    if task in OGBENCH or isinstance(environment(task).unwrapped, TabletopEnv):
        assert 0.05 < ours.mean() < 0.95, "the states should lie on both sides"
    return ours


@pytest.mark.parametrize("task", EVERY_ENVIRONMENT)
def test_goal_set_agrees_with_the_environment(task: Task) -> None:
    """The official predicate and the environment's own success, on a few hundred states."""
    check_verdicts(task, 30)


@pytest.mark.slow
@pytest.mark.parametrize("task", EVERY_ENVIRONMENT)
def test_goal_set_agrees_with_the_environment_on_thousands_of_states(task: Task) -> None:
    ours = check_verdicts(task, 1000 if task not in OGBENCH else 500)
    assert len(ours) >= 5_000
    print(f"{task.env_id}: {len(ours)} verdicts agree, {ours.sum()} of them success")


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
    env.action_space.seed(0)
    rng = np.random.default_rng(0)
    columns: dict[str, list[np.ndarray]] = {"observations": [], "qpos": [], "button_states": []}
    for step in range(40):
        if step % 4 == 0:
            disturb(env, rng)
        observation, _, _, _, info = env.unwrapped.step(env.action_space.sample())
        columns["observations"].append(observation)
        columns["qpos"].append(info["qpos"])
        columns["button_states"].append(info.get("button_states", np.zeros(0)))
    data = {key: np.stack(values) for key, values in columns.items()}
    add_oracle_reps(task.env_id, env, data)
    # OGBench rounds its representation to single precision.
    ours = projection(task, data["observations"])
    np.testing.assert_allclose(ours, data["oracle_reps"], rtol=1e-6, atol=1e-6)
