"""A small store, and sweeps of it that end in seconds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

# Clusters of tests speak on 127.0.0.1 alone; Ray listens to this when it is imported.
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import pytest

from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play
from goalsets.envs.tasks import TASKS
from goalsets.sweep.grid import Evaluation, Sweep
from goalsets.train.session import Pace

TASK = "tabletop-single-v0"


@pytest.fixture(scope="session")
def data_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("data")
    write_store(
        home / TASK,
        record_play(40, 100, seed=0).episodes(),
        record_play(20, 100, seed=1).episodes(),
        layout=TASKS[TASK].layout,
        source="scripted play",
    )
    return home


@pytest.fixture(autouse=True)
def _data(data_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(data_home))


def small(**changes: Any) -> Sweep:
    """A sweep of small networks, without evaluations unless they are asked for."""
    fields: dict[str, Any] = {
        "name": "small",
        "tasks": (TASK,),
        "seeds": (0, 1),
        "overrides": ({"steps": 40, "batch_size": 32, "hidden": 32},),
        "evaluation": Evaluation(episodes=0),
        "pace": Pace(log_every=5, checkpoint_every=10),
    }
    return Sweep(**{**fields, **changes})
