"""Adapters: plain environments work by default, and what cannot be done is said in a sentence."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import goalsets
from goalsets import GoalSet, Group, Query, StateLayout
from goalsets.envs.goalset_env import GoalSetEnv
from goalsets.envs.tasks import TASKS, Adapter, CannotError, Task
from goalsets.evaluate.camera import Camera, CameraError
from goalsets.evaluate.official import official_specs
from goalsets.evaluate.rollout import EpisodeSpec, run_episode
from tests.envs.walking import LAYOUT, PLACES, Walk, broken, walk_task


class RobotWalk(Walk):
    """The same with the dictionaries and the words of Gymnasium-Robotics."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        observation, _ = super().reset(seed=seed, options=options)
        return self._said(observation), {}

    def step(self, action: Any) -> Any:
        observation, reward, ended, cut, info = super().step(action)
        return self._said(observation), reward, ended, cut, {"is_success": float(info["success"])}

    def _said(self, observation: Any) -> dict[str, Any]:
        state = observation.astype(np.float64)
        return {"observation": state, "achieved_goal": state[:2], "desired_goal": self.place}


def test_a_plain_environment_is_started_and_stepped() -> None:
    world = walk_task(adapter=Adapter).open()
    first, goal = world.start(2, 7)
    assert (first.dtype, goal.dtype) == (np.float32, np.float32)
    np.testing.assert_array_equal(goal, [*PLACES[1], 1.0])
    np.testing.assert_array_equal(world.start(2, 7).observation, first)
    told = world.step(np.array([0.1, 0.0], dtype=np.float32))
    np.testing.assert_allclose(told.observation[:2], np.add(first[:2], (0.1, 0.0)), atol=1e-6)
    assert (told.success, told.over) == (False, False)
    np.testing.assert_array_equal(world.observation, told.observation)


def test_dictionaries_of_gymnasium_robotics_are_understood() -> None:
    plain, robot = walk_task(adapter=Adapter).open(), walk_task(kind=RobotWalk).open()
    ours, theirs = plain.start(3, 5), robot.start(3, 5)
    np.testing.assert_array_equal(ours.observation, theirs.observation)
    np.testing.assert_array_equal(theirs.goal, [*PLACES[2], 1.0])
    action = np.array([-0.1, -0.1], dtype=np.float32)
    told = [robot.step(action) for _ in range(19)]
    assert [step.success for step in told[:1] + told[-1:]] == [False, True]
    assert told[-1].over
    assert goalsets.check_task(walk_task(kind=RobotWalk)) == goalsets.check_task(walk_task())


def test_the_goal_environment_takes_dictionaries_too() -> None:
    world = walk_task(kind=RobotWalk).open()
    env = GoalSetEnv(world, queries="pos")
    observation, info = env.reset(seed=0, options={"task_id": 2})
    assert observation["observation"].shape == (3,)
    np.testing.assert_array_equal(info["goal"][:2], PLACES[1])
    assert env.observation_space.contains(observation)


@pytest.mark.parametrize(
    ("space", "values", "taken"),
    [
        (spaces.Discrete(4), [2.2], 2),
        (spaces.Discrete(4), [9.0], 3),
        (spaces.Discrete(4, start=10), [11.0], 11),
        (spaces.Discrete(3), [0.1, 0.2, 0.9], 2),
        (spaces.Box(-1, 1, (2, 2), np.float32), [0.1, 0.2, 0.3, 0.4], [[0.1, 0.2], [0.3, 0.4]]),
        (spaces.Box(0, 9, (2,), np.int64), [1.6, 3.2], [2, 3]),
    ],
)
def test_actions_become_what_the_space_takes(space: Any, values: Any, taken: Any) -> None:
    world = walk_task(kind=broken(Walk, action_space=space)).open()
    action = world.action(np.array(values, dtype=np.float32))
    assert space.contains(action)
    np.testing.assert_allclose(action, taken, rtol=1e-6)


def test_bounds_are_those_of_the_space() -> None:
    bounds = walk_task().open().action_bounds
    assert bounds is not None
    np.testing.assert_allclose(bounds, [[-0.1, -0.1], [0.1, 0.1]])
    assert bounds[0].dtype == np.float32
    free = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    for space in (free, spaces.Discrete(3)):
        assert walk_task(kind=broken(Walk, action_space=space)).open().action_bounds is None


CANNOT = {
    "put": ("be set to a state", lambda w: w.put(np.zeros(3))),
    "look": ("be observed between steps", lambda w: w.look()),
    "push": ("be pushed", lambda w: w.push(np.random.default_rng(0))),
    "draw": ("draw a given state", lambda w: w.draw(np.zeros(3), None, None)),
    "render": ("be drawn", lambda w: w.render()),
}


@pytest.mark.parametrize("method", CANNOT)
def test_what_a_task_cannot_do_is_said_with_the_method_that_would(method: str) -> None:
    what, act = CANNOT[method]
    world = walk_task(adapter=Adapter).open()  # not opened to be drawn
    world.start(1, 0)
    with pytest.raises(CannotError, match=f"walk-v0 cannot {what}.* define the method {method}\\("):
        act(world)
    assert world.pushes is None
    assert world.physics is None


def test_pictures_have_the_width_that_was_asked_for() -> None:
    world = walk_task().open(render=True)
    world.start(1, 0)
    assert world.render(64).shape == (96, 64, 3)  # the environment draws 48 by 32
    assert world.step_seconds == pytest.approx(0.05)


def test_a_camera_films_what_can_be_rendered_and_says_what_cannot() -> None:
    query = Query.parse("task", LAYOUT)
    goal = np.array([*PLACES[0], 1.0], dtype=np.float32)
    world = walk_task().open(render=True)
    camera = Camera(world, goal, query, frames=10)
    camera.start(1, 0)
    camera.step(np.zeros(2, dtype=np.float32))
    camera.take()
    assert len(camera.pictures) == 2
    plain = Camera(walk_task(adapter=Adapter).open(render=True), goal, query)
    plain.start(1, 0)
    # The goal is in the corner of the film only where the simulator can be put there.
    assert not np.array_equal(camera.pictures[0], plain.pictures[0])
    with pytest.raises(CameraError, match="nothing can be drawn here: walk-v0 cannot be drawn"):
        Camera(walk_task().open(), goal, query)


class Towards:
    """A policy that walks to the goal."""

    layout = LAYOUT

    def reset(self) -> None:
        return None

    def act(self, observation: Any, goal: Any, query: Query, **_: Any) -> Any:
        return np.clip(goal[:2] - observation[:2], -0.1, 0.1).astype(np.float32)


def silent(self: Walk, action: Any) -> Any:
    return (*Walk.step(self, action)[:2], False, False, {})


@pytest.mark.parametrize("kind", [Walk, RobotWalk, broken(Walk, step=silent)])
def test_official_episodes_of_any_number_of_goals(kind: Any, monkeypatch: Any) -> None:
    """Also of an environment that does not judge: then the official query does."""
    task = walk_task(kind=kind)
    monkeypatch.setitem(TASKS._entries, task.name, task)
    specs = official_specs(task.name, 2)
    assert [spec.task_id for spec in specs] == [1, 1, 2, 2, 3, 3]
    world = task.open()
    for spec in specs:
        result = run_episode(world, Towards(), EpisodeSpec(*_fields(spec), trace=True))  # pyright: ignore[reportArgumentType]
        assert result.success
        assert result.trace is not None
        seen = result.trace["observations"]
        inside = GoalSet(result.trace["goal"], task.query).contains(seen)
        assert result.steps == int(np.argmax(inside)) == len(seen) - 1


def _fields(spec: EpisodeSpec) -> tuple[str, int, int]:
    return spec.task, spec.task_id, spec.seed


def test_an_environment_by_its_id_needs_five_fields(monkeypatch: Any) -> None:
    gymnasium.register("OneWalk-v0", entry_point=Walk, max_episode_steps=40)
    try:
        task = Task("one-walk-v0", "OneWalk-v0", LAYOUT, 40, 20)
        goalsets.check_task(task)
        assert list(task.goal_numbers) == [1]
        assert (task.presets, task.script, task.terrain) == ({}, None, None)
    finally:
        gymnasium.registry.pop("OneWalk-v0")


def test_tasks_can_be_kept_in_a_table_and_name_presets_that_exist() -> None:
    from goalsets.learners import LEARNERS
    from goalsets.runs.presets import PRESETS

    assert len({task: name for name, task in TASKS.items()}) == len(TASKS)
    for task in map(TASKS.__getitem__, TASKS):
        assert {*task.presets, *task.presets.values(), *task.tuned} <= set(PRESETS)
        assert {learner for each in task.tuned.values() for learner in each} <= set(LEARNERS)
        if task.script is not None:
            held_out = task.script.held_out()
            assert held_out[0].observations.shape[1] == task.layout.dim


@pytest.mark.full
@pytest.mark.parametrize(
    "env_id", sorted({t.env_id for _, t in TASKS.items() if t.domain != "Tabletop"})
)
def test_goals_have_the_names_that_ogbench_gives_them(env_id: str) -> None:
    task = next(task for _, task in TASKS.items() if task.env_id == env_id)
    world = task.open()
    world.start(1, 0)
    assert tuple(info["task_name"] for info in world.inner.task_infos) == task.goals
    world.close()


def test_the_playground_says_what_it_needs() -> None:
    from goalsets.play.poser import Poser

    with pytest.raises(CannotError, match=r"walk-v0 cannot be played with: .* draw\(observation"):
        Poser(walk_task())


class ReacherAdapter(Adapter):
    """A goal and a way to put states in, for an arm that comes with Gymnasium."""

    def goal_state(self, raw: Any, info: Any) -> Any:
        state = self.observe(raw).copy()
        state[8:] = 0.0
        return state

    def put(self, state: Any) -> None:
        angles = np.arctan2(state[2:4], state[:2])
        self.inner.set_state(np.array([*angles, *state[4:6]]), np.array([*state[6:8], 0.0, 0.0]))


@pytest.mark.full
def test_a_robot_of_gymnasium_in_a_few_lines() -> None:
    from goalsets.play.poser import Poser
    from goalsets.play.shapes import bodies_of

    groups = [
        Group("cosines", (0, 1), tolerance=0.2),
        Group("sines", (2, 3), tolerance=0.2),
        Group("target", (4, 5), unit="m", tolerance=0.01),
        Group("vel", (6, 7), unit="rad/s", tolerance=1.0),
        Group("apart", (8, 9), unit="m", tolerance=0.03),
    ]
    layout = StateLayout(10, groups, task="apart", name="reacher")
    task = Task("reacher-v0", "Reacher-v5", layout, 50, 25, adapter=ReacherAdapter)
    remarks = goalsets.check_task(task)
    assert "only the official query judges" in " ".join(remarks)
    poser = Poser(task)
    state = poser.world.observation.copy()
    np.testing.assert_allclose(poser.pose(state)[2:], state[4:6], atol=1e-6)
    physics = poser.world.physics
    assert physics is not None
    moving = [body for body in bodies_of(physics[0], layout) if body.moves]
    assert moving
    assert all(body.groups == set(layout.by_name) for body in moving)
    assert poser.world.step_seconds == pytest.approx(0.02)
    poser.world.close()


SOURCE = Path(goalsets.__file__).parent
ROOMS = ("envs", "collect")
"""Where tasks may be asked for their family, and environments for what is inside them."""
PRIVATE = ("goalsets.envs.tabletop", "goalsets.envs.ogbench", "goalsets.envs.layouts")


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(SOURCE.rglob("*.py")) if p.relative_to(SOURCE).parts[0] not in ROOMS],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_nobody_else_knows_one_task_from_another(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("unwrapped", "inner"), f"line {node.lineno}"
            assert not (node.attr == "family" and "task" in ast.dump(node.value)), node.lineno
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith(PRIVATE), f"line {node.lineno}"
