"""Collects one episode from its seed. Equal seeds give equal numbers, in any worker and order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.collect.behaviour import Driver, make_driver
from goalsets.collect.errors import CollectError
from goalsets.collect.recipes import Recipe

Split = Literal["train", "validation"]
SPLITS: tuple[Split, Split] = ("train", "validation")

Rows = dict[str, NDArray[Any]]
"""Arrays under OGBench's keys, each `[T, ...]`."""

INFORMATION = {
    "qpos": "prev_qpos",
    "qvel": "prev_qvel",
    "button_states": "prev_button_states",
}
"""For each key of OGBench's files, its key in the `info` of a step: values before that step."""

MOST_ATTEMPTS = 100


@dataclass(frozen=True)
class Job:
    """Which episode to collect."""

    split: Split
    index: int

    def __str__(self) -> str:
        """Name the episode."""
        return f"{self.split} episode {self.index}"


def make_collector(recipe: Recipe, seed: int) -> Callable[[Job], Rows]:
    """Create the environment and its oracles; return a function that collects episodes."""
    driver = make_driver(recipe)
    return lambda job: collect_episode(driver, recipe, seed, job)


def collect_episode(driver: Driver, recipe: Recipe, seed: int, job: Job) -> Rows:
    """Collect one episode. An episode that the recipe rejects is collected again.

    The random numbers depend on (seed, split, index, attempt). So a small data set is the beginning
    of a larger one with the same seed, and no validation episode is in a training set.
    """
    for attempt in range(MOST_ATTEMPTS):
        key = (SPLITS.index(job.split), job.index, attempt)
        rows = _drive(driver, recipe.length, np.random.SeedSequence(seed, spawn_key=key))
        if not recipe.cube_stays_visible or cube_stays_visible(rows["qpos"]):
            return rows
    raise CollectError(
        f"{job}: the cube left the visible area in each of {MOST_ATTEMPTS} attempts."
    )


def _drive(driver: Driver, length: int, randomness: np.random.SeedSequence) -> Rows:
    for_env, for_globals, for_driver = randomness.spawn(3)
    # OGBench's oracles and mazes use numpy's global generator. Nothing else in this process does.
    np.random.seed(for_globals.generate_state(4))  # noqa: NPY002
    seed = int(for_env.generate_state(1)[0])
    observation = driver.begin(seed, np.random.default_rng(for_driver))
    columns: dict[str, list[Any]] = {key: [] for key in ("observations", "actions", *INFORMATION)}
    step_environment = driver.env.step
    for step in range(length):
        action = driver.act(step)
        following, _, _, _, info = step_environment(action)
        columns["observations"].append(observation)
        columns["actions"].append(action)
        for key, name in INFORMATION.items():
            columns[key].append(info.get(name))
        driver.observe(following, info)
        observation = following
    return _as_rows(columns)


def _as_rows(columns: dict[str, list[Any]]) -> Rows:
    """OGBench's arrays: a row has a state, its action, and whether it is the last row."""
    rows: Rows = {
        key: np.array(values, dtype=np.int64 if key == "button_states" else np.float32)
        for key, values in columns.items()
        if values[0] is not None
    }
    rows["terminals"] = np.zeros(len(columns["actions"]), dtype=np.bool_)
    rows["terminals"][-1] = True
    return rows


def cube_stays_visible(qpos: NDArray[np.floating]) -> bool:
    """Whether the cube of `scene` is visible, or in the drawer, in all of `qpos [T, 25]`.

    OGBench leaves out other episodes: in their images, goals cannot be told apart.
    """
    y, z = qpos[:, 15], qpos[:, 16]
    in_drawer = (z >= 0.06) & (z <= 0.08)
    return not bool(((y >= 0.29) | ((y <= -0.3) & ~in_drawer)).any())
