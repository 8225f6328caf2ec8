"""Value landscapes: the distance that a run predicts over a plane of states, query by query.

Only tasks whose states can be laid out in a plane have one: PointMaze, where the state is the
plane, and the tabletop, where the block or the gripper is moved and all else stays as it is. A run
that keeps its landscape (`landscape.npz`) can be shown without its weights.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.start import make_environment, start_episode
from goalsets.learners import LEARNERS
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run

LANDSCAPE = "landscape.npz"
_GRID = 90
"""Points along the longer side of a plane."""
_SEED = 0
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Plane:
    """States laid out over two coordinates."""

    label: str
    """What moves; empty where the state is the plane."""
    unit: str
    x: Floats
    y: Floats
    states: Floats
    """`[len(y) * len(x), D]`, row by row."""
    goal: Floats
    aim: tuple[float, float]
    """Where the goal lies in the plane."""
    walls: NDArray[np.bool_]
    """`[len(y), len(x)]`, where nothing can be."""


@dataclass(frozen=True)
class Landscape:
    """What one run predicts over the planes of its task."""

    queries: tuple[str, ...]
    """What was asked; `task` alone of a run that hears no query."""
    distances: NDArray[np.float16]
    """`[planes, queries, len(y), len(x)]`, zero in walls. Halves are fine enough to be drawn."""
    step: int
    """Of the weights that predicted."""


def has_landscape(config: TrainConfig) -> bool:
    """Whether there is a plane to lay out states of the task in, and a distance to ask for."""
    tells = LEARNERS[config.learner].distance_unit is not None
    return tells and _family(config.task) in _PLANES


def planes_of(task: str) -> list[Plane]:
    """The planes of a task that has a landscape."""
    return _PLANES[_family(task)](task)


def compute_landscape(run: Run) -> Landscape:
    """Ask the last weights of a run."""
    if not has_landscape(run.config):
        raise GoalsetsError(
            f"{run.path} has no value landscape: those are for {' and '.join(_PLANES)} tasks, and "
            f"for learners with a distance; it is {run.config.learner} on {run.config.task}."
        )
    # Of the checkpoint; of the last weights that were kept where there is none any more.
    kept = None if run.checkpoint.exists() or not run.steps else run.steps[-1]
    policy, progress = run.load(kept)
    hears = policy.learner.conditioner.hears_queries
    queries = _QUERIES[_family(run.config.task)] if hears else ("task",)
    asked = [Query.parse(text, policy.layout) for text in queries]
    found = [
        [
            np.where(plane.walls, 0, policy.distance(plane.states, plane.goal, query).reshape(
                plane.walls.shape
            ))
            for query in asked
        ]
        for plane in planes_of(run.config.task)
    ]  # fmt: skip
    return Landscape(queries, np.asarray(found, dtype=np.float16), progress.step)


def keep_landscape(run: Run) -> Landscape:
    """Ask the last weights of a run, and keep the answer in its directory."""
    landscape = compute_landscape(run)
    temporary = run.path / f".{LANDSCAPE}"
    with temporary.open("wb") as file:
        np.savez_compressed(
            file,
            queries=np.array(landscape.queries),
            distances=landscape.distances,
            step=np.array(landscape.step),
        )
    temporary.replace(run.path / LANDSCAPE)
    return landscape


def kept_landscape(path: Path, config: TrainConfig) -> Landscape | None:
    """The landscape in a run's directory, of its last step; None where there is none.

    Args:
        path: The run directory.
        config: Its configuration.
    """
    file = path / LANDSCAPE
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as arrays:
            queries = tuple(str(text) for text in arrays["queries"])
            found = Landscape(queries, arrays["distances"], int(arrays["step"]))
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise GoalsetsError(f"its {LANDSCAPE} is damaged: {error}") from None
    if found.step != config.steps:
        return None
    shapes = [(len(queries), *plane.walls.shape) for plane in planes_of(config.task)]
    if found.distances.shape != (len(shapes), *shapes[0]):
        raise GoalsetsError(
            f"its {LANDSCAPE} has the shape {found.distances.shape}, expected "
            f"{(len(shapes), *shapes[0])}."
        )
    return found


def _family(task: str) -> str:
    return TASKS[task].family if task in TASKS else ""


def _maze(task: str) -> list[Plane]:
    env = make_environment(TASKS[task])
    _, goal = start_episode(env, 1, _SEED)
    inner: Any = env.unwrapped
    cells = np.asarray(inner.maze_map)
    # A cell reaches half a unit around its centre.
    corner = np.array(inner.ij_to_xy((0, 0))) - inner.ij_to_xy((1, 1))
    unit = float(abs(corner[0]))
    x0, y0 = np.array(inner.ij_to_xy((0, 0))) - unit / 2
    step = max(cells.shape) * unit / _GRID
    x = np.arange(x0 + step / 2, x0 + cells.shape[1] * unit, step, dtype=np.float32)
    y = np.arange(y0 + step / 2, y0 + cells.shape[0] * unit, step, dtype=np.float32)
    rows = np.clip(((y - y0) / unit).astype(int), 0, cells.shape[0] - 1)
    columns = np.clip(((x - x0) / unit).astype(int), 0, cells.shape[1] - 1)
    walls = cells[np.ix_(rows, columns)] == 1
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
    env.close()
    return [Plane("", "m", x, y, grid, goal, (float(goal[0]), float(goal[1])), walls)]


def _table(task: str) -> list[Plane]:
    from goalsets.envs.tabletop.layout import BLOCKS, EFF_POS, JOINT_POS
    from goalsets.envs.tabletop.states import WORKSPACE, arm_joints

    env = make_environment(TASKS[task])
    first, goal = start_episode(env, 1, _SEED)
    env.close()
    x = np.linspace(WORKSPACE[0][0], WORKSPACE[1][0], _GRID // 2, dtype=np.float32)
    y = np.linspace(WORKSPACE[0][1], WORKSPACE[1][1], _GRID // 2, dtype=np.float32)
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
    free = np.zeros((len(y), len(x)), dtype=bool)
    planes: list[Plane] = []
    for label, start in (("block moved", BLOCKS.start), ("gripper moved", EFF_POS.start)):
        states = np.repeat(first[None], len(places), axis=0)
        states[:, start : start + 2] = places
        # The arm's joints follow the gripper; nothing else does.
        states[:, JOINT_POS][:, :2] = arm_joints(states[:, EFF_POS])
        aim = (float(goal[start]), float(goal[start + 1]))
        planes.append(Plane(label, "dm", x, y, states, goal, aim, free))
    return planes


_PLANES: dict[str, Callable[[str], list[Plane]]] = {"pointmaze": _maze, "tabletop": _table}
_QUERIES = {"pointmaze": ("pos", "[0]", "[1]"), "tabletop": ("cube_pos", "ee_pos", "all")}
