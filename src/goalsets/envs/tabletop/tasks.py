"""The five official tasks for each number of blocks, similar to OGBench's cube environments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goalsets.envs.tabletop.layout import TabletopError, check_num_blocks
from goalsets.envs.tabletop.states import (
    BLOCK_SIDE,
    REST_HEIGHT,
    SWIVEL_LIMIT,
    Float,
    build_states,
)
from goalsets.envs.tabletop.streams import Uniforms
from goalsets.envs.tabletop.world import TabletopWorld

NUM_TASKS = 5

_REST = np.array([-1.2, 0.0, 1.6])
"""The gripper's position at the start: above the table, away from the goals of blocks."""
_REST_SPREAD = np.array([0.4, 0.8, 0.3])
_START_SPREAD = 0.1
_LOW, _HIGH = REST_HEIGHT, REST_HEIGHT + BLOCK_SIDE


@dataclass(frozen=True)
class TabletopTask:
    """The start and the goal of each block."""

    name: str
    starts: tuple[tuple[float, float, float], ...]
    """A position for each block."""
    goals: tuple[tuple[float, float, float], ...]
    """A position for each block."""


_SINGLE = (
    TabletopTask("task1_horizontal", ((0.0, 1.0, _LOW),), ((0.0, -1.0, _LOW),)),
    TabletopTask("task2_vertical1", ((-0.75, 0.0, _LOW),), ((0.75, 0.0, _LOW),)),
    TabletopTask("task3_vertical2", ((0.75, 0.0, _LOW),), ((-0.75, 0.0, _LOW),)),
    TabletopTask("task4_diagonal1", ((-0.75, -1.3, _LOW),), ((0.75, 1.3, _LOW),)),
    TabletopTask("task5_diagonal2", ((-0.75, 1.3, _LOW),), ((0.75, -1.3, _LOW),)),
)
_DOUBLE = (
    TabletopTask(
        "task1_single_move",
        ((0.0, 0.0, _LOW), (0.0, -1.0, _LOW)),
        ((0.0, 0.0, _LOW), (0.0, 1.0, _LOW)),
    ),
    TabletopTask(
        "task2_double_move1",
        ((-0.75, -1.0, _LOW), (0.75, -1.0, _LOW)),
        ((-0.75, 1.0, _LOW), (0.75, 1.0, _LOW)),
    ),
    TabletopTask(
        "task3_double_move2",
        ((-0.75, 0.0, _LOW), (0.75, 0.0, _LOW)),
        ((0.0, -1.3, _LOW), (0.0, 1.3, _LOW)),
    ),
    TabletopTask(
        "task4_swap",
        ((0.0, -1.0, _LOW), (0.0, 1.0, _LOW)),
        ((0.0, 1.0, _LOW), (0.0, -1.0, _LOW)),
    ),
    TabletopTask(
        "task5_stack",
        ((0.0, -1.3, _LOW), (0.0, 1.3, _LOW)),
        ((0.0, 0.0, _LOW), (0.0, 0.0, _HIGH)),
    ),
)


def official_tasks(num_blocks: int = 1) -> tuple[TabletopTask, ...]:
    """Return the five official tasks; task id 1 is the first."""
    return _SINGLE if check_num_blocks(num_blocks) == 1 else _DOUBLE


def official_task(task_id: int, num_blocks: int = 1) -> TabletopTask:
    """Return the official task with an id from 1 to 5."""
    if task_id not in range(1, NUM_TASKS + 1):
        raise TabletopError(f"expected a task id from 1 to {NUM_TASKS}, got {task_id!r}.")
    return official_tasks(num_blocks)[int(task_id) - 1]


def start_tasks(tasks: Sequence[TabletopTask], rng: Uniforms) -> tuple[TabletopWorld, Float]:
    """Start each of N tasks in its own world; return the worlds and their goals `[N, D]`.

    With `Streams.from_seeds(seeds)` each world does exactly what `TabletopEnv` does after
    `reset(seed=seed, options={"task_id": ...})`.
    """
    if not tasks:
        raise TabletopError("expected at least one task, got none.")
    world = TabletopWorld(len(tasks), len(tasks[0].starts), rng)
    world.set_state(start_states(tasks, rng))
    return world, goal_states(tasks, rng)


def start_states(tasks: Sequence[TabletopTask], rng: Uniforms) -> Float:
    """Draw a start state `[N, D]` for each of N tasks.

    Blocks are near the starts of the task, with random yaws; the gripper is open, near its rest.
    """
    places = np.array([task.starts for task in tasks])
    draws = rng.random((len(tasks), 5 + 3 * places.shape[1]))
    offsets = draws[:, 5:].reshape(*places.shape)
    places[..., :2] += _START_SPREAD * (2 * offsets[..., :2] - 1)
    return _waiting(places, 2 * np.pi * offsets[..., 2], draws[:, :5])


def goal_states(tasks: Sequence[TabletopTask], rng: Uniforms) -> Float:
    """Draw a full goal state `[N, D]` for each of N tasks.

    Blocks are at their goals. The rest of the state is plausible but unrelated to the task: random
    yaws, and the gripper as at the start.
    """
    places = np.array([task.goals for task in tasks])
    num_blocks = places.shape[1]
    draws = rng.random((len(tasks), 5 + num_blocks))
    return _waiting(places, 2 * np.pi * draws[:, 5:], draws[:, :5])


def _waiting(block_pos: np.ndarray, block_yaw: np.ndarray, draws: np.ndarray) -> Float:
    """States with given blocks and an open gripper near its rest, from draws `[N, 5]`."""
    return build_states(
        eff_pos=_REST + _REST_SPREAD * (2 * draws[:, :3] - 1),
        eff_yaw=2 * np.pi * draws[:, 3],
        opening=1.0,
        swivel=SWIVEL_LIMIT * (2 * draws[:, 4] - 1),
        block_pos=block_pos,
        block_yaw=block_yaw,
    )
