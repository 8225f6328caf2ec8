"""A small store and runs on it, made once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play
from goalsets.envs.tasks import TASKS
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run
from goalsets.train.session import Pace, train

TASK = "tabletop-single-v0"


def make_run(path: Path, store: Store, *, keep_every: int | None = None, **fields: object) -> Run:
    """Train for a few steps: enough to act, too few to act well."""
    settings = {"task": TASK, "steps": 6, "batch_size": 64, **fields}
    return train(TrainConfig(**settings), store, path, pace=Pace(keep_every=keep_every))


def make_store(path: Path, source: str = "scripted play") -> Store:
    return write_store(
        path,
        record_play(40, 100, seed=0).episodes(),
        record_play(20, 100, seed=1).episodes(),
        layout=TASKS[TASK].layout,
        source=source,
    )


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("data") / TASK)


@pytest.fixture(scope="session")
def run(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "gs", store, keep_every=2)


@pytest.fixture(scope="session")
def gcdl(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "gcdl", store, learner="gcdl")
