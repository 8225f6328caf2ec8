"""A small store of two blocks, and a run on it: enough to act, too little to act well."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np

from goalsets import GoalSet, Query
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play
from goalsets.envs.tasks import TASKS
from goalsets.plan.planner_file import PLANNER
from goalsets.runs.config import TrainConfig
from goalsets.runs.records import EVALUATIONS
from goalsets.runs.run import Run
from goalsets.train.session import Pace, train

TASK = "tabletop-double-v0"
LAYOUT = TASKS[TASK].layout


@functools.cache
def place() -> Path:
    directory = tempfile.TemporaryDirectory()
    place.keep = directory  # until the process ends
    return Path(directory.name)


@functools.cache
def store() -> Store:
    return make_store(place() / "data" / TASK, seed=0)


def make_store(path: Path, seed: int) -> Store:
    return write_store(
        path,
        record_play(150, 200, num_blocks=2, seed=seed).episodes(),
        record_play(10, 200, num_blocks=2, seed=seed + 1).episodes(),
        layout=LAYOUT,
        source="scripted play",
    )


@functools.cache
def trained() -> Run:
    config = TrainConfig(TASK, steps=4, batch_size=32, hidden=32)
    return train(config, store(), place() / "run", pace=Pace(keep_every=2))


def copy_of_run(path: Path) -> Run:
    """A run of one's own, without a planner and without records."""
    shutil.copytree(trained().path, path)
    for name in (PLANNER, EVALUATIONS):
        (path / name).unlink(missing_ok=True)
    return Run.open(path)


def question(task_id: int, seed: int = 0) -> tuple[np.ndarray, GoalSet]:
    """The start and the goal set of an official task."""
    first, goal = TASKS[TASK].open().start(task_id, seed)
    return first, GoalSet(goal, Query.parse("task", LAYOUT))
