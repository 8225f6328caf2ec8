"""What a sweep makes before its first run: data is collected once, whatever asks for it again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from goalsets.core import GoalsetsError
from goalsets.data.store import INDEX, Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.runs.run import Run
from goalsets.sweep.grid import DataChoice
from goalsets.sweep.prepare import prepare_data
from goalsets.sweep.survey import RUNS
from tests.sweep.conftest import small
from tests.sweep.driving import drive

CUBE = "cube-single-noisy-v0"


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for data that has none."""
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_missing_data_is_named(empty: Path) -> None:
    with pytest.raises(GoalsetsError, match=CUBE):
        prepare_data(CUBE, DataChoice("never"))


def test_data_of_another_size_is_taken_and_told(empty: Path) -> None:
    episodes = record_play(3, 20, seed=0).episodes()
    write_store(empty / CUBE, episodes, layout=tabletop_layout(1))
    said: list[str] = []
    prepare_data(CUBE, DataChoice("collect", episodes=3), said.append)
    assert not said
    prepare_data(CUBE, DataChoice("collect", episodes=200), said.append)
    assert "has 3 episodes, not the 200" in said[0]


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_sweep_collects_its_data_once(empty: Path, tmp_path: Path) -> None:
    pytest.importorskip("ogbench")
    sweep = small(tasks=(CUBE,), seeds=(0,), data=DataChoice("collect", episodes=2))
    place = tmp_path / "sweep"
    assert drive(sweep, place).complete
    store = Store.open(empty / CUBE)
    assert store.train.num_episodes == 2
    run = Run.open(place / RUNS / sweep.jobs()[0].name)
    assert run.data["fingerprint"] == store.fingerprint
    made = {path: path.stat().st_mtime_ns for path in empty.rglob("*") if path.is_file()}
    assert drive(dataclasses.replace(sweep, seeds=(0, 1)), place).outcomes == {"done": 1}
    assert {path: path.stat().st_mtime_ns for path in empty.rglob("*") if path.is_file()} == made
    # Where the files of OGBench are there already, nothing is collected either.
    (empty / CUBE / INDEX).unlink()
    said: list[str] = []
    again = prepare_data(CUBE, sweep.data, said.append)
    assert again.fingerprint == store.fingerprint
