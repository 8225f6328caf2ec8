"""A recorded arm and runs on it, made once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalsets.data.store import Store
from goalsets.play.logs.setup import LogSetup, open_logs
from goalsets.play.logs.show import LogShow
from goalsets.runs.run import Run
from tests.play.logs.arm import MJCF, URDF, make_run, make_store


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("logs")
    (place / "arm.xml").write_text(MJCF)
    (place / "arm.urdf").write_text(URDF)
    return place


@pytest.fixture(scope="session")
def store(here: Path) -> Store:
    return make_store(here / "store")


@pytest.fixture(scope="session")
def run(here: Path, store: Store) -> Run:
    return make_run(here / "gcdl", store)


@pytest.fixture(scope="session")
def setup(run: Run, store: Store) -> LogSetup:
    return open_logs([run.path], store)


@pytest.fixture
def show(setup: LogSetup) -> LogShow:
    return LogShow(setup)
