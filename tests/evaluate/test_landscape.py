"""Which runs have a value landscape, and what is kept of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalsetsError
from goalsets.evaluate.landscape import (
    LANDSCAPE,
    compute_landscape,
    has_landscape,
    kept_landscape,
    planes_of,
)
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run

MAZE = TrainConfig("pointmaze-medium-navigate-v0", "gcdl", steps=7)


def test_a_landscape_needs_a_plane_and_a_value() -> None:
    assert has_landscape(MAZE)
    assert not has_landscape(dataclasses.replace(MAZE, learner="gcbc"))
    assert not has_landscape(dataclasses.replace(MAZE, task="cube-single-noisy-v0"))
    assert not has_landscape(dataclasses.replace(MAZE, task="a-store-of-ones-own"))
    with pytest.raises(GoalsetsError, match="has no value landscape: that needs a task") as told:
        compute_landscape(Run.open("demo"))
    assert "'goalsets check " in str(told.value), "it says what the data alone can show"
    assert "'goalsets distance " in str(told.value)


def test_a_maze_lies_in_its_walls_and_the_goal_does_not() -> None:
    (plane,) = planes_of(MAZE.task)
    assert plane.walls[0].all()
    assert plane.walls[:, -1].all()
    column = np.abs(plane.x - plane.aim[0]).argmin()
    row = np.abs(plane.y - plane.aim[1]).argmin()
    assert not plane.walls[row, column]
    state = plane.states.reshape(*plane.walls.shape, 2)[row, column]
    np.testing.assert_array_equal(state, (plane.x[column], plane.y[row]))


def _write(path: Path, *, step: int = 7, shape: tuple[int, ...]) -> Path:
    distances = np.zeros((1, 2, *shape), np.float16)
    np.savez_compressed(path / LANDSCAPE, queries=["pos", "[0]"], distances=distances, step=step)
    return path


def test_what_was_kept_counts_if_it_is_of_the_last_step_and_fits(tmp_path: Path) -> None:
    (plane,) = planes_of(MAZE.task)
    assert kept_landscape(tmp_path, MAZE) is None
    found = kept_landscape(_write(tmp_path, shape=plane.walls.shape), MAZE)
    assert found is not None
    assert found.queries == ("pos", "[0]")
    assert kept_landscape(_write(tmp_path, step=6, shape=plane.walls.shape), MAZE) is None
    with pytest.raises(GoalsetsError, match="has the shape"):
        kept_landscape(_write(tmp_path, shape=(3, 4)), MAZE)
    (tmp_path / LANDSCAPE).write_bytes(b"PK no archive")
    with pytest.raises(GoalsetsError, match="is damaged"):
        kept_landscape(tmp_path, MAZE)
