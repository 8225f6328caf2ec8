"""Episodes: they depend on their seed alone, and behave as their recipe says."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from goalsets.collect import RECIPES, CollectError, Recipe, can_collect, episode
from goalsets.collect.behaviour import Driver, make_driver
from goalsets.collect.episode import Job, collect_episode, cube_stays_visible
from goalsets.collect.simulator import Repeatable

MANIPULATION = ["cube-double-noisy-v0", "scene-noisy-v0", "puzzle-3x3-play-v0"]
MAZES = ["pointmaze-teleport-navigate-v0", "pointmaze-medium-stitch-v0"]


@functools.cache
def driver_for(recipe: Recipe) -> Driver:
    """A driver that earlier tests may have used: that must not matter."""
    return make_driver(recipe)


def short(name: str, length: int, **changes: Any) -> Recipe:
    return replace(RECIPES[name], length=length, **changes)


@pytest.fixture(autouse=True)
def _keep_global_generator():
    """Collection owns numpy's global generator in its workers; here it must give it back."""
    state = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(state)  # noqa: NPY002


def assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key, array in one.items():
        assert array.dtype == other[key].dtype
        np.testing.assert_array_equal(array, other[key], err_msg=key)


@pytest.mark.full
@pytest.mark.parametrize("name", [*MANIPULATION, *MAZES])
def test_nothing_leaks_from_one_episode_into_the_next(name):
    # Long enough for targets of every kind: the targets of scene are what once did leak.
    recipe = short(name, 160 if name in MANIPULATION else 201)
    used = driver_for(recipe)
    for index in range(3):
        collect_episode(used, recipe, 0, Job("train", index))
    again = collect_episode(used, recipe, 0, Job("train", 5))
    alone = collect_episode(make_driver(recipe), recipe, 0, Job("train", 5))
    assert_equal(again, alone)


@pytest.mark.full
def test_reset_restores_the_model():
    recipe = short("scene-noisy-v0", 160)
    used, fresh = driver_for(recipe), make_driver(recipe)
    collect_episode(used, recipe, 0, Job("train", 0))
    for driver in (used, fresh):
        driver.env.reset(seed=4)
    for field in dir(fresh.env.model):
        value = getattr(fresh.env.model, field)
        # Colours show which button is on; the simulation does not see them.
        if isinstance(value, np.ndarray) and not field.endswith("rgba"):
            np.testing.assert_array_equal(getattr(used.env.model, field), value, err_msg=field)


@pytest.mark.full
@pytest.mark.parametrize("name", MANIPULATION)
def test_environment_is_as_ogbench_has_it(name):
    ours = driver_for(short(name, 160)).env
    assert isinstance(ours, Repeatable)
    plain_class = type(ours).__mro__[2]
    plain = plain_class(env_type=ours._env_type, terminate_at_goal=False, mode="data_collection")
    rng = np.random.default_rng(0)
    for step in range(80):
        if step % 40 == 0:
            ours.reset(seed=step)
            plain.reset(seed=step)
        if step % 20 == 10:
            theirs = plain.set_new_target(p_stack=0.5)
            assert_same_description(ours.set_new_target(p_stack=0.5), theirs)
        action = rng.uniform(-1, 1, 5)
        action[2] -= 0.5  # Down, to where things are touched.
        one, other = ours.step(action), plain.step(action)
        assert_same_description((one[0], one[4]), (other[0], other[4]))


def assert_same_description(one: tuple, other: tuple) -> None:
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1].keys() == other[1].keys()
    for key, value in other[1].items():
        # The site of a target that was not chosen yet may hold that of the episode before.
        if not key.startswith("privileged/target_"):
            np.testing.assert_array_equal(one[1][key], value, err_msg=key)


def record_oracles(driver: Any, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray | None]:
    """What the oracles wanted at each step; None where they were not asked."""
    wanted: list[np.ndarray | None] = []
    for oracle in driver.oracles.values():

        def select(observation, info, select=oracle.select_action):
            wanted[-1] = select(observation, info)
            return wanted[-1].copy()

        monkeypatch.setattr(oracle, "select_action", select)

    def act(step, act=driver.act):
        wanted.append(None)
        return act(step)

    monkeypatch.setattr(driver, "act", act)
    return wanted


@pytest.mark.full
def test_noisy_actions(monkeypatch):
    recipe = short("cube-double-noisy-v0", 160)
    driver = driver_for(recipe)
    wanted = record_oracles(driver, monkeypatch)
    episodes = [collect_episode(driver, recipe, 1, Job("train", index)) for index in range(8)]
    actions = np.stack([rows["actions"] for rows in episodes])
    assert np.abs(actions).max() <= 1.0

    asked = np.array([action is not None for action in wanted]).reshape(8, 160)
    assert 1 - asked.mean() == pytest.approx(0.1, abs=4 * np.sqrt(0.1 * 0.9 / asked.size))
    at_random = actions[~asked]
    np.testing.assert_allclose(at_random.mean(0), 0.0, atol=0.2)
    np.testing.assert_allclose(at_random.std(0), 1 / np.sqrt(3), atol=0.1)

    intended = np.array([np.zeros(5) if a is None else a for a in wanted]).reshape(8, 160, 5)
    noise = np.where(asked[..., None] & (np.abs(actions) < 1), actions - intended, np.nan)
    # Where the oracle wanted to move slowly, clipping hides nothing of the noise.
    noise[np.abs(intended) > 0.5] = np.nan
    xyz_levels = np.nanstd(noise[..., :3], axis=(1, 2))
    assert 0.0 < xyz_levels.min() < 0.04
    assert 0.06 < xyz_levels.max() < 0.12
    yaw_levels = np.nanstd(noise[..., 3], axis=1)
    assert np.nanmedian(yaw_levels / xyz_levels) == pytest.approx(3.0, rel=0.2)


@pytest.mark.full
def test_noise_of_the_gripper_is_the_largest(monkeypatch):
    recipe = short("cube-double-noisy-v0", 160)
    driver: Any = driver_for(recipe)
    driver.begin(0, np.random.default_rng(3))
    levels = driver._noise.std(axis=0)
    np.testing.assert_allclose(levels[1:] / levels[0], [1, 1, 3, 10], rtol=0.3)
    assert levels[:3].mean() < 0.1


@pytest.mark.full
def test_play_actions(monkeypatch):
    recipe = short("scene-play-v0", 160)
    driver: Any = driver_for(recipe)
    assert {oracle._noise for oracle in driver.oracles.values()} == {0.1}
    assert {oracle._noise_smoothing for oracle in driver.oracles.values()} == {0.5}
    wanted = record_oracles(driver, monkeypatch)
    rows = collect_episode(driver, recipe, 0, Job("train", 1))
    np.testing.assert_array_equal(rows["actions"], np.array(wanted, dtype=np.float32))
    assert np.abs(rows["actions"]).max() <= 1.0


@pytest.mark.full
def test_cubes_are_stacked_as_often_as_the_recipe_says(monkeypatch):
    recipe = short("cube-double-noisy-v0", 160)
    driver: Any = driver_for(recipe)
    drawn = []
    for index in range(40):
        driver.begin(index, np.random.default_rng(index))
        drawn.append(driver._stacking)
    assert 0.0 <= min(drawn) < 0.05
    assert 0.2 < max(drawn) <= 0.25

    chances: list[float] = []
    real = driver.env.set_new_target

    def set_new_target(return_info=True, p_stack=None):
        if p_stack is not None:
            chances.append(p_stack)
        return real(return_info, 0.5 if p_stack is None else p_stack)

    monkeypatch.setattr(driver.env, "set_new_target", set_new_target, raising=False)
    collect_episode(driver, recipe, 0, Job("train", 0))
    assert len(chances) >= 1
    assert set(chances) == {driver._stacking}


@pytest.mark.full
def test_buttons_of_a_puzzle():
    recipe = short("puzzle-3x3-play-v0", 160)
    rows = collect_episode(driver_for(recipe), recipe, 0, Job("train", 0))
    states = rows["button_states"]
    assert states.dtype == np.int64
    assert states.shape == (160, 9)
    assert set(np.unique(states)) == {0, 1}
    assert (states != states[0]).any(), "no button was pressed"
    # Four numbers a button follow the arm; the first two are its state, one-hot.
    shown = rows["observations"][:, 19:].reshape(160, 9, 4)[..., :2]
    np.testing.assert_array_equal(shown, np.eye(2)[states])


def test_cube_in_view():
    qpos = np.zeros((3, 25))
    assert cube_stays_visible(qpos)
    for y, z, visible in ((0.29, 0, False), (0.28, 0, True), (-0.31, 0.07, True)):
        qpos[1, 15:17] = y, z
        assert cube_stays_visible(qpos) == visible
    qpos[1, 15:17] = -0.3, 0.05
    assert not cube_stays_visible(qpos)


@pytest.mark.full
def test_episode_out_of_view_is_redone(monkeypatch):
    recipe = short("scene-noisy-v0", 160)
    driver = driver_for(recipe)
    first = collect_episode(driver, recipe, 0, Job("train", 0))
    verdicts = iter([False, True, False, True])
    monkeypatch.setattr(episode, "cube_stays_visible", lambda qpos: next(verdicts))
    second = collect_episode(driver, recipe, 0, Job("train", 0))
    assert (second["qpos"][0] != first["qpos"][0]).any()
    assert_equal(collect_episode(driver, recipe, 0, Job("train", 0)), second)


@pytest.mark.full
def test_a_hopeless_recipe_ends(monkeypatch):
    recipe = short("scene-noisy-v0", 2)
    monkeypatch.setattr(episode, "cube_stays_visible", lambda qpos: False)
    monkeypatch.setattr(episode, "MOST_ATTEMPTS", 3)
    with pytest.raises(
        CollectError, match="train episode 0: the cube left the visible area in each of 3 attempts"
    ):
        collect_episode(driver_for(short("scene-noisy-v0", 160)), recipe, 0, Job("train", 0))


def cells_of(env: Any, positions: np.ndarray) -> list[tuple[int, int]]:
    return [env.xy_to_ij(position) for position in positions]


@pytest.mark.full
def test_navigation_covers_the_maze():
    recipe = RECIPES["pointmaze-medium-navigate-v0"]
    driver: Any = driver_for(recipe)
    visited: set[tuple[int, int]] = set()
    for index in range(8):
        rows = collect_episode(driver, recipe, 0, Job("train", index))
        assert np.abs(rows["actions"]).max() <= 1.0
        np.testing.assert_array_equal(rows["observations"], rows["qpos"])
        visited |= set(cells_of(driver.env, rows["observations"]))
    assert visited == set(driver.cells)
    assert len(driver.junctions) < len(driver.cells)


def test_way_is_the_one_ogbench_finds():
    driver: Any = driver_for(RECIPES["pointmaze-medium-navigate-v0"])
    env = driver.env
    rng = np.random.default_rng(0)
    for _ in range(200):
        start, goal = rng.choice(len(driver.cells), 2)
        xy = env.add_noise(env.ij_to_xy(driver.cells[start]))
        driver._goal = driver.cells[goal]
        theirs, _ = env.get_oracle_subgoal(xy, env.ij_to_xy(driver._goal))
        np.testing.assert_array_equal(driver._subgoal(env.xy_to_ij(xy)), theirs)


@pytest.mark.full
def test_stitching_goes_four_cells_and_stays():
    recipe = RECIPES["pointmaze-medium-stitch-v0"]
    driver: Any = driver_for(recipe)
    for index in range(10):
        rows = collect_episode(driver, recipe, 0, Job("train", index))
        cells = cells_of(driver.env, rows["observations"])
        start = driver.env.ij_to_xy(cells[0])
        _, distances = driver.env.get_oracle_subgoal(start, start)
        assert distances[driver.env.xy_to_ij(driver.env.cur_goal_xy)] == 4
        assert max(distances[cell] for cell in cells) in (4, 5)
        assert len(rows["terminals"]) == 201


@pytest.mark.full
def test_noise_of_a_maze_walk():
    recipe = RECIPES["pointmaze-medium-navigate-v0"]
    driver: Any = driver_for(recipe)
    driver.begin(0, np.random.default_rng(0))
    assert driver._noise.std() == pytest.approx(0.5, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_works(name):
    recipe = short(name, 30)
    if not can_collect(name):
        pytest.skip(f"the {recipe.expert} is not trained yet")
    rows = collect_episode(make_driver(recipe), recipe, 0, Job("train", 0))
    assert {len(array) for array in rows.values()} == {30}
    assert all(np.isfinite(array).all() for array in rows.values())
