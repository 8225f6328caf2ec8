"""Further files that ended in a traceback or took all memory: tables, goals, sweeps, reports."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goalsets.collect.files import join
from goalsets.core import GoalsetsError
from goalsets.data.sources import SOURCES
from goalsets.data.sources.base import SourceError
from goalsets.data.sources.columns import join_vectors
from goalsets.envs.tabletop import tabletop_layout
from goalsets.evaluate.goals import GoalFinder
from goalsets.evaluate.landscape import LANDSCAPE, kept_landscape, planes_of
from goalsets.lock import Lock, read_holder
from goalsets.report.write import INDEX, _earlier
from goalsets.runs.config import TrainConfig
from goalsets.sweep.drive import DRIVER, Driver, read_driver
from tests.data.bag_files import timeline, write_bag
from tests.fuzz.others import ROS

DIGITS = "9" * 5000
"""Python reads no whole number of more than 4,300 digits."""


# --- Tables -------------------------------------------------------------------------------------


def test_a_table_of_very_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"action_{i}" for i in range(100_000)) + "\n" + "1," * 99_999 + "1\n")
    begun = time.process_time()
    with pytest.raises(SourceError, match="it has 100,000 columns; up to 10,000 are read"):
        SOURCES["csv"]((path,)).fields()
    assert time.process_time() - begun < 5  # and not the two minutes that it took
    path.write_text(",".join(f"x{i}" for i in range(1000)) + "\n" + "1," * 999 + "1\n")
    with pytest.raises(SourceError, match="'x48', 'x49' and 950 more"):
        SOURCES["csv"]((path,)).fields()


def test_columns_with_numbers_that_are_too_long() -> None:
    names = [f"a_{DIGITS}", f"a_{DIGITS}0", f"b[{DIGITS}]", f"b[{DIGITS}0]"]
    assert [vector.name for vector in join_vectors(names)] == names


def test_a_number_that_repeats_does_not_fill_the_memory(tmp_path: Path) -> None:
    """80 million numbers in a few kilobytes, as one list."""
    path = tmp_path / "log.parquet"
    schema = pa.schema({"state": pa.list_(pa.float32()), "action": pa.float32()})
    values = pa.array(np.zeros(8_000_000, np.float32))
    row = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    table = pa.table([row, pa.array([0], pa.float32())], schema)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(table)
    assert path.stat().st_size < 100_000
    with pytest.raises(SourceError, match="would become 80,000,010 numbers; measured data does"):
        SOURCES["parquet"]((path,)).fields()


def test_many_names_of_one_array_do_not_multiply_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each episode alone is small enough; links to it would fill a disk."""
    monkeypatch.setattr("goalsets.core.door.hdf5.FREE_BYTES", 1 << 20)
    path = tmp_path / "low_dim.hdf5"
    with h5py.File(path, "w") as file:
        demo = file.create_group("data/demo_0")
        for name in ("actions", "obs/pos"):
            demo.create_dataset(name, (20_000, 2), "f4", chunks=(20_000, 2))
        for number in range(1, 100):
            file[f"data/demo_{number}"] = h5py.SoftLink("/data/demo_0")
    episodes = SOURCES["hdf5"](path).episodes("train")
    assert len(next(episodes).actions) > 19_000
    with pytest.raises(SourceError, match="bytes would become 1,599,960; measured data does not"):
        list(episodes)


# --- Goals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"task:{DIGITS}", "official goals are task:1 to task:1"),
        (f"bank:{DIGITS}", "expected a condition"),
        (f"bank:[{DIGITS}] > 0.5", "unknown group"),
        (f"bank:block0_pos.{DIGITS} > 0.5", "has no part"),
    ],
    ids=lambda text: text[:15],
)
def test_goals_with_numbers_that_are_too_long(text: str, message: str) -> None:
    with pytest.raises(GoalsetsError, match=message):
        finder().find(text)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ([10**400] * 18, "expected 18 numbers"),
        ([1e300] * 18, "expected 18 finite numbers"),
        ([[0.0] * 18], r"got an array of shape \(1, 18\)"),
        ({"block0_pos.x": 1e300}, "numbers for block0_pos.x that fit single precision"),
        ({"block0_pos": 10**400}, "expected finite numbers for block0_pos"),
        ({"block0_pos.x": {"a": 1}}, "expected numbers for block0_pos.x"),
        ({f"[{DIGITS}]": 1}, "unknown group"),
        ({"": []}, "expected an edit"),
        (None, "expected 18"),
    ],
    ids=range(9),
)
def test_files_of_goals(plain: object, message: str, tmp_path: Path) -> None:
    text = json.dumps(plain).replace(str(10**400), "1" + "0" * 400)
    (tmp_path / "goal.json").write_text(text)
    with pytest.raises(GoalsetsError, match=message):
        finder().find(str(tmp_path / "goal.json"))


def finder() -> GoalFinder:
    state = np.zeros(18, np.float32)
    return GoalFinder(tabletop_layout(1), ["one"], lambda _: state, 1, lambda: state[None])


# --- Sweeps, locks, reports, landscapes ---------------------------------------------------------


@pytest.mark.parametrize(
    "text", ['{"slots": "many"}', '{"slots": null}', '{"slots": 0}', "[1]", ""]
)
def test_what_a_driver_wrote(text: str, tmp_path: Path) -> None:
    (tmp_path / DRIVER).write_text('{"slots": 3}')
    assert read_driver(tmp_path) == Driver(3)
    (tmp_path / DRIVER).write_text(text)
    assert read_driver(tmp_path) == Driver(1)


@pytest.mark.parametrize("pid", ["1e999", '"1"', "0", "-1", "null", str(2**70)])
def test_a_note_in_a_lock_that_names_nobody(pid: str, tmp_path: Path) -> None:
    with Lock(tmp_path / "lock", "write"):
        assert read_holder(tmp_path / "lock").pid == os.getpid()
        (tmp_path / "lock").write_text(
            f'{{"pid": {pid}, "host": "h", "since": "s", "command": "c"}}'
        )
        assert read_holder(tmp_path / "lock") is None


def test_a_report_removes_only_its_own_tables_and_figures(tmp_path: Path) -> None:
    odd = [
        "",
        ".",
        "..",
        "figures",
        "figures/..",
        "figures/a/b",
        "notes.txt",
        "/etc/passwd",
        "a\0b",
    ]
    odd += ["figures/a\0b", "figures/" + "x" * 300, "tables/.hidden"]
    named = {"files": ["figures/old name.svg", *odd, "tables/old.csv"]}
    (tmp_path / INDEX).write_text(json.dumps(named))
    assert _earlier(tmp_path / INDEX) == ["figures/old name.svg", "tables/old.csv"]


@pytest.mark.parametrize(
    "odd",
    [
        {"step": np.inf},
        {"step": np.array([1, 2])},
        {"step": "soon"},
        {"queries": "pos"},
        {"distances": str},
        {"distances": int},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_landscapes(odd: dict, tmp_path: Path) -> None:
    config = TrainConfig("pointmaze-medium-navigate-v0", "gcdl", steps=7)
    (plane,) = planes_of(config.task)
    whole = {"distances": np.zeros((1, 1, *plane.walls.shape), np.float16), "queries": ["pos"]}
    whole |= {"step": 7, **{n: v for n, v in odd.items() if n != "distances"}}
    if "distances" in odd:
        whole["distances"] = whole["distances"].astype(odd["distances"])
    np.savez(tmp_path / LANDSCAPE, **whole)
    with pytest.raises(GoalsetsError, match="its landscape.npz is damaged"):
        kept_landscape(tmp_path, config)


def test_a_topic_whose_name_is_a_number(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    write_bag(bag, "SQLITE3", timeline(0.3))
    index = bag / "metadata.yaml"
    index.write_text(index.read_text().replace("name: /tool", "name: 7"))
    assert "name: 7" in index.read_text()
    with pytest.raises(SourceError, match="the names and types of topics must be texts"):
        list(SOURCES["ros"]((bag,), **ROS).episodes())


def test_a_bag_whose_list_of_files_is_a_text(tmp_path: Path) -> None:
    """The library reads the bag, and fails when it closes it."""
    bag = tmp_path / "bag"
    write_bag(bag, "SQLITE3", timeline(0.3))
    index = bag / "metadata.yaml"
    index.write_text(index.read_text().replace("  files:\n", "  files: some\n  others:\n"))
    assert "files: some" in index.read_text()
    with pytest.raises(SourceError, match="bag.*is damaged"):
        list(SOURCES["ros"]((bag,), **ROS).episodes())


@pytest.mark.parametrize(
    "second",
    [np.zeros((2, 3), np.float32), np.zeros((2, 4)), np.zeros((5, 4), np.float32)],
    ids=["width", "type", "rows"],
)
def test_files_of_a_collection_that_do_not_fit(second: np.ndarray, tmp_path: Path) -> None:
    paths = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for path, states in zip(paths, (np.zeros((2, 4), np.float32), second), strict=True):
        np.savez(path, observations=states, terminals=np.zeros(2))
    with pytest.raises(GoalsetsError, match=r"two\.npz: expected observations to be"):
        join(paths, io.BytesIO())


def test_columns_first_or_rows_first_are_the_same_collection(tmp_path: Path) -> None:
    states, told = np.arange(8, dtype=np.float32).reshape(2, 4), io.BytesIO()
    for name, order in (("one", "F"), ("two", "C")):
        np.savez(tmp_path / name, observations=np.asarray(states, order=order), terminals=[0, 1])
    assert join([tmp_path / "one.npz", tmp_path / "two.npz"], told) == 4
    told.seek(0)
    assert np.array_equal(np.load(told)["observations"], np.concatenate([states, states]))
