"""Value landscapes: the distance that a run predicts over a plane of states, for each query.

Only tasks with a `terrain` have one; it defines the plane. A run with a recorded landscape
(`landscape.npz`) can be drawn without its weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query, door
from goalsets.envs.landscape import Plane, Terrain
from goalsets.envs.tasks import TASKS
from goalsets.learners import LEARNERS
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run

LANDSCAPE = "landscape.npz"


@dataclass(frozen=True)
class Landscape:
    """The distances that one run predicts over the planes of its task."""

    queries: tuple[str, ...]
    """The queries; only `task` for a run that takes no query."""
    distances: NDArray[np.float16]
    """`[planes, queries, len(y), len(x)]`, zero in walls, in half precision."""
    step: int
    """The step of the weights."""


def has_landscape(config: TrainConfig) -> bool:
    """Whether the task has a plane of states, and the learner a distance."""
    tells = LEARNERS[config.learner].distance_unit is not None
    return tells and _terrain(config.task) is not None


def terrain_of(task: str) -> Terrain:
    """The terrain over which the landscape of a task is drawn."""
    terrain = _terrain(task)
    if terrain is None:
        raise GoalsetsError(f"{task} has no plane of states to draw a landscape over.")
    return terrain


def planes_of(task: str) -> Sequence[Plane]:
    """The planes of a task that has a landscape."""
    return terrain_of(task).planes()


def _terrain(task: str) -> Terrain | None:
    return TASKS[task].terrain if task in TASKS else None


def compute_landscape(run: Run) -> Landscape:
    """Compute the landscape of a run's last weights."""
    if not has_landscape(run.config):
        raise GoalsetsError(
            f"{run.path} has no value landscape: that needs a task with a plane of states and a "
            f"learner with a distance; this run is {run.config.learner} on "
            f"{run.config.task}. 'goalsets check {run.path}' measures predicted distances on the "
            f"data alone, and 'goalsets distance {run.path}' draws them along an episode."
        )
    # Without a checkpoint, use the last weights that were kept.
    kept = None if run.checkpoint.exists() or not run.steps else run.steps[-1]
    policy, progress = run.load(kept)
    hears = policy.learner.conditioner.hears_queries
    queries = terrain_of(run.config.task).queries if hears else ("task",)
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
    """Compute the landscape of a run's last weights, and write it into its directory."""
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
    """The landscape in a run's directory; None if there is none.

    Args:
        path: The run directory.
        config: Its configuration.
    """
    file = path / LANDSCAPE
    if not file.exists():
        return None
    try:
        with door.Archive(file, text=True) as archive:
            queries = tuple(str(text) for text in archive.read("queries"))
            found = Landscape(queries, archive.read("distances"), int(archive.read("step")))
        if found.distances.dtype.kind != "f":
            raise TypeError(f"its distances are {found.distances.dtype}, expected numbers")
    except (TypeError, ValueError, OverflowError) as error:  # of another form, or not one at all
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
