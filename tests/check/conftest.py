"""A store of the tabletop, and runs on it: a good one, an untrained one, one that was misled."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from goalsets.core import Episode
from goalsets.data.store import Store
from goalsets.data.tolerances import UsualTolerances
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play
from goalsets.envs.tasks import TASKS
from goalsets.runs.presets import resolve
from goalsets.runs.run import Run
from goalsets.train.session import Pace, train

TASK = "tabletop-single-v0"
TRAINED = 1200
"""Steps after which the good run knows its questions well above the threshold of a go."""
LAYOUT = TASKS[TASK].layout
USUAL = UsualTolerances(np.zeros((1, LAYOUT.dim)))
"""Never asked for: all groups of this layout have tolerances."""


def episodes(count: int, seed: int) -> list[Episode]:
    return list(record_play(count, 200, seed=seed).episodes())


def make_store(path: Path, episodes_to_train: list[Episode], held_out: int = 40) -> Store:
    return write_store(
        path, episodes_to_train, episodes(held_out, 1), layout=LAYOUT, source="scripted play"
    )


def make_run(path: Path, store: Store, steps: int, learner: str = "gcbc", **fields: object) -> Run:
    overrides = {"steps": steps, "batch_size": 256, **fields}
    scheme = overrides.pop("scheme", "gs-direct")
    config = resolve(
        TASK, preset="small", learner=learner, scheme=str(scheme), overrides=overrides, settings={}
    )
    return train(config, store, path, pace=Pace())


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("data") / TASK, episodes(400, 0))


@pytest.fixture(scope="session")
def trained(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "trained", store, TRAINED)


@pytest.fixture(scope="session")
def untrained(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "untrained", store, 1)


@pytest.fixture(scope="session")
def with_distance(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "distance", store, 2, "gcdl")


@pytest.fixture(scope="session")
def misled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Trained as long as the good one, on actions that belong to other states."""
    right = episodes(400, 0)
    rng = np.random.default_rng(0)
    shuffled = [dataclasses.replace(e, actions=rng.permutation(e.actions)) for e in right]
    wrong = make_store(tmp_path_factory.mktemp("wrong") / TASK, shuffled)
    return make_run(tmp_path_factory.mktemp("runs") / "misled", wrong, TRAINED)
