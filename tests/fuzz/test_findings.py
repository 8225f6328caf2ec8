"""What once ended in a traceback, or took all memory: each is a sentence now."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import goalsets
from goalsets.core import GoalsetsError
from goalsets.data.sources import SOURCES
from goalsets.data.store import Store, StoreError, digest
from goalsets.evaluate.suites.description import SuiteError, read_description
from goalsets.evaluate.suites.suite import Suite, _digest
from goalsets.report.reading import read_runs
from goalsets.runs.run import Run
from goalsets.sweep.files import parse_sweep
from goalsets.sweep.grid import SweepError
from goalsets.train.log import CsvLog, LogError
from goalsets.train.session import train
from tests.fuzz import good

# --- Stores -------------------------------------------------------------------------------------


def change_array(store: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Write another array in the place of one, with an index that says so."""
    index = json.loads((store / "store.json").read_text())
    path = store / index["data"] / f"{name}.npy"
    array = change(np.load(path))
    np.save(path, array)
    record = {"dtype": str(array.dtype), "shape": list(array.shape), "digest": digest(array)}
    index["arrays"][name] = record
    (store / "store.json").write_text(json.dumps(index))


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("offsets", lambda a: a.astype(np.float64), r"offsets.npy: expected int64 with 1 axes"),
        (
            "offsets",
            lambda a: a[None],
            r"offsets.npy: expected int64 with 1 axes, got int64\[1, 13",
        ),
        ("offsets", lambda a: a[:0], "it has no episodes, no states or no actions"),
        ("offsets", lambda a: a[::-1], "increase from 0 to 372"),
        ("observations", lambda a: a[:, 0], "observations.npy: expected float32 with 2 axes"),
        ("observations", lambda a: a[None], "observations.npy: expected float32 with 2 axes"),
        ("observations", lambda a: a.astype(str), "expected an array of numbers, got <U"),
        ("observations", lambda a: a.astype(complex), "expected an array of numbers, got complex"),
        ("observations", lambda a: a.astype(float), r"expected float32 with 2 axes, got float64"),
        (
            "observations",
            lambda a: a[:, :4],
            "its layout has 18 coordinates, and its states have 4",
        ),
        ("observations", lambda a: a[:-1], "has 372 rows, but observations.npy has 371"),
        ("actions", lambda a: a[:, :0], "it has no episodes, no states or no actions"),
    ],
)
def test_stores(name: str, change, message: str, mapped: bool, tmp_path: Path) -> None:
    good.copy_store(tmp_path)
    change_array(tmp_path / "data", name, change)
    with pytest.raises(StoreError, match=message):
        Store.open(tmp_path / "data", mapped=mapped)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"splits": [10, 2]}, r"'splits': expected a mapping, got \[10, 2\]"),
        ({"splits": {"train": "all", "validation": 2}}, "'splits.train': expected a whole number"),
        ({"splits": {"train": 13, "validation": -1}}, "'splits.validation': .* at least 0, got -1"),
        ({"layout": "tabletop"}, "'layout': expected a mapping or null, got 'tabletop'"),
        ({"layout": {"dim": 18}}, "its layout cannot be read: a layout needs 'groups'"),
        ({"arrays": None}, "'arrays': expected a mapping"),
        ({"data": "../elsewhere"}, "expected the name of a file beside it, got '../elsewhere'"),
        ({"notices": "none"}, "'notices': expected a list, got 'none'"),
        ({"rate": -5}, "'rate': expected steps a second above 0, got -5"),
    ],
)
def test_indices_of_stores(changes: dict, message: str, tmp_path: Path) -> None:
    good.copy_store(tmp_path)
    path = tmp_path / "data" / "store.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(StoreError, match=message):
        Store.open(tmp_path / "data")


# --- HDF5 ---------------------------------------------------------------------------------------


def replace(name: str, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        if isinstance(value, dict):
            file.create_group(name)
        else:
            file[name] = value

    return change


def unallocated(file: h5py.File) -> None:
    """A terabyte that takes no room in the file."""
    del file["data/demo_0/actions"]
    file.create_dataset("data/demo_0/actions", (1 << 30, 256), "f4", chunks=(1024, 256))


def elsewhere(file: h5py.File) -> None:
    del file["data/demo_0/actions"]
    file.create_dataset("data/demo_0/actions", (4, 2), "f4", external=[("/etc/passwd", 0, 32)])


def undecodable(file: h5py.File) -> None:
    del file["mask/train"]
    file["mask/train"] = np.array([b"\xff\xfe"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            replace("data/demo_0/actions", {}),
            "/data/demo_0/actions: expected an array, got a group",
        ),
        (
            replace("data/demo_0/obs", np.ones(3)),
            "/data/demo_0/obs: expected a group, got an array",
        ),
        (replace("data/demo_0", np.ones(3)), "'data/demo_0': expected a group, got an array"),
        (replace("data", np.ones(3)), "'data': expected a group, got an array"),
        (replace("mask/train", {}), "'mask/train': expected an array, got a group"),
        (replace("mask/train", np.arange(3)), "expected a list of names of episodes, got int64"),
        (replace("mask/train", "demo_0"), "expected a list of names of episodes"),
        (replace("data/demo_0/actions", h5py.Empty("f4")), "expected an array, got nothing"),
        (undecodable, "low_dim.hdf5"),
        (unallocated, "0 bytes would become 1,099,511,627,776; measured data does not compress"),
        (elsewhere, "is stored in another file"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_hdf5(change, message: str, tmp_path: Path) -> None:
    good.make_hdf5(tmp_path)
    with h5py.File(tmp_path / "low_dim.hdf5", "a") as file:
        change(file)
    with pytest.raises(GoalsetsError, match=message):
        list(SOURCES["hdf5"](tmp_path / "low_dim.hdf5").episodes("train"))


# --- Run directories ----------------------------------------------------------------------------


def settings(**changes: object) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        plain = json.loads((run / "config.json").read_text())
        (run / "config.json").write_text(json.dumps({**plain, **changes}))

    return change


def write(name: str, text: str) -> Callable[[Path], None]:
    return lambda run: (run / name).write_text(text) and None


def pipe(name: str) -> Callable[[Path], None]:
    def change(run: Path) -> None:
        (run / name).unlink()
        os.mkfifo(run / name)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (settings(settings=[1]), r"settings: expected a mapping of names to values, got \[1\]"),
        (settings(settings="alpha"), "settings: expected a mapping"),
        (settings(settings=None), "settings: expected a mapping"),
        (settings(seed="zero"), "seed: expected a whole number, got 'zero'"),
        (settings(hidden=20_000), "hidden may be up to 8,192, got 20,000"),
        (settings(hidden=8_000), "it has no tensor of the width 8,000"),
        (settings(hidden=True), "hidden: expected a whole number, got True"),
        (settings(steps=1e9), "steps: expected a whole number"),
        (settings(learning_rate=float("nan")), "learning_rate must be above 0"),
        (settings(task=["a"]), r"task: expected a text, got \['a'\]"),
        (write("config.json", "[" * 10_000), "is nested more than 64 deep"),
        (write("config.json", "null"), "expected a configuration, a mapping"),
        (write("data.json", "[]"), "data.json: expected a mapping"),
        (write("data.json", '{"fingerprint": 3}'), "'fingerprint': expected a text, got 3"),
        (pipe("config.json"), "expected a file, got a named pipe"),
        (pipe("layout.json"), "expected a file, got a named pipe"),
        (pipe("frame.safetensors"), "expected a file, got a named pipe"),
        (pipe("checkpoint.safetensors"), "expected a file, got a named pipe"),
    ],
)
def test_run_directories(change, message: str, tmp_path: Path) -> None:
    good.copy_run(tmp_path)
    change(tmp_path)
    with pytest.raises(GoalsetsError, match=message):
        goalsets.load(tmp_path)


def test_other_files_beside_kept_weights(tmp_path: Path) -> None:
    good.copy_run(tmp_path)
    for name in ("step-last.safetensors", "step-.safetensors", "step-03.safetensors", "notes.txt"):
        (tmp_path / "weights" / name).write_text("mine")
    assert Run.open(tmp_path).steps == [3]


def test_metrics(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("")
    CsvLog(tmp_path, after=3).record(4, 1.0, {"loss": 2.0})
    assert (tmp_path / "metrics.csv").read_text().split() == ["step,seconds,loss", "4,1.0,2.0"]
    for text, message in {
        "garbage\n1,2\n": "is not a log of metrics: expected the columns step, seconds",
        "step,seconds,a,a\n": "others once each",
        'step,seconds\n"1,': "is not CSV",
    }.items():
        (tmp_path / "metrics.csv").write_text(text)
        with pytest.raises(LogError, match=message):
            CsvLog(tmp_path, after=3)
    (tmp_path / "metrics.csv").write_text("step,seconds\nsoon,1\n2,1\n")
    CsvLog(tmp_path, after=3).record(3, 1.0, {})
    assert (tmp_path / "metrics.csv").read_text().split() == ["step,seconds", "2,1", "3,1.0"]


def test_evaluations_that_are_no_records(tmp_path: Path) -> None:
    good.copy_run(tmp_path)
    lines = [
        '{"kind": "official", "step": "soon", "success": 1.0, "num_episodes": 2}',
        '{"kind": "official", "step": 3, "success": 7, "num_episodes": 2}',
        '{"kind": "official", "step": 3, "success": 1, "num_episodes": 2, "episodes": [1]}',
        '{"kind": "suite", "step": 3, "digest": "d", "by_predicate": {"a": []}}',
        '{"kind": "distance", "step": 3, "rollout": {}, "curves": []}',
        '{"kind": "mine", "anything": [1]}',
        "[" * 5000,
    ]
    with (tmp_path / "evaluations.jsonl").open("a") as file:
        file.write("\n".join(lines) + "\n")
    found = read_runs([tmp_path])
    assert [record["kind"] for record in found.runs[0].evaluations] == ["official", "suite", "mine"]
    assert "line 3, 4, 5, 6, 7, 9 of its evaluations.jsonl is damaged" in found.notes[0].reason


def test_a_resumed_state_that_is_damaged_is_not_continued(tmp_path: Path) -> None:
    good.copy_run(tmp_path)
    path = tmp_path / "checkpoint.safetensors"
    data = bytearray(path.read_bytes())
    data[-9] ^= 4  # in a tensor, where nothing but the digest can tell
    path.write_bytes(data)
    config = Run.open(tmp_path).config
    with pytest.raises(
        GoalsetsError, match=r"checkpoint.safetensors is damaged: its content in 'optimiser"
    ):
        train(config, good.small_store(), tmp_path, resume=True)


# --- Sweeps and suites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("description: " + "[" * 500, "nested more than 64 deep|is not YAML"),
        ("description: 2024-02-31", "a value cannot be read"),
        ("seeds: [[1]]", r"'seeds' needs whole numbers, got \[1\]"),
        ("seeds: [-1]", "'seeds' must be 0 or more"),
        ("overrides: [{steps: [5]}]", r"steps: expected a whole number, got \[5\]"),
        ("overrides: [{hidden: 20000}]", "hidden may be up to 8,192"),
        ("overrides: [{5: 5}]", "'overrides' needs names of fields"),
        ("evaluation: [1]", r"'evaluation' needs a mapping, got \[1\]"),
        ("evaluation: {episodes: [1]}", "'episodes' of 'evaluation' needs a whole number"),
        ("a: &a [1,1]\nseeds: &b [*a,*a]\nx: &c [*b,*b]\n" + "y: [*c]\n", "unknown key|twice"),
    ],
)
def test_sweeps(changes: str, message: str) -> None:
    with pytest.raises(SweepError, match=message):
        parse_sweep(f"tasks: tabletop-single-v0\npreset: small\n{changes}\n", "x.yaml", "x")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": []}, r"'episodes': expected|no episode"),
        ({"seed": "s"}, "'seed': expected a whole number, got 's'"),
        ({"questions": {"cube": 3}}, "expected a mapping"),
        ({"episodes": [{"predicate": "x", "task_id": 1, "seed": 0, "goal": [0.0]}]}, "asks 'x'"),
        (
            {"episodes": [{"predicate": "cube", "task_id": 1, "seed": 0, "goal": ["a"]}]},
            r"'episodes\[0\].goal\[0\]': expected a number, got 'a'",
        ),
        (
            {"episodes": [{"predicate": "cube", "task_id": 1, "seed": 0, "goal": [float("nan")]}]},
            "the goal of episode 0 is not finite",
        ),
        (
            {"episodes": [{"predicate": "cube", "task_id": 1, "seed": -1, "goal": [0.0]}]},
            r"'episodes\[0\].seed': expected a whole number of at least 0, got -1",
        ),
    ],
)
def test_suites_with_a_digest_that_fits(changes: dict, message: str, tmp_path: Path) -> None:
    good.make_suite(tmp_path)
    plain = json.loads((tmp_path / "suite.json").read_text()) | changes
    del plain["digest"]
    (tmp_path / "suite.json").write_text(json.dumps({**plain, "digest": _digest(plain)}))
    if changes == {"episodes": []}:
        assert Suite.load(tmp_path / "suite.json").episodes == ()
        return
    with pytest.raises(SuiteError, match=message):
        Suite.load(tmp_path / "suite.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("predicates: {a: {query: [x]}}", "expected a question in text"),
        ("predicates: {a: {query: x, tolerances: [1]}}", "'tolerances': expected a mapping"),
        ("predicates: {a: {query: x}}\nepisodes: 1000000000", "up to 100,000, got 1000000000"),
        ("predicates: {a: {query: x}}\nepisodes: true", "'episodes' must be a whole number"),
        ("predicates: {a: {query: x}}\ntasks: {a: b}", "'tasks' must be a list of names"),
        ("predicates: {a: {query: x}}\nmargin: .nan", "must be 0 or more"),
    ],
)
def test_descriptions_of_suites(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(SuiteError, match=message):
        read_description(tmp_path / "mine.yaml")
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    os.mkfifo(tmp_path / "mine.yaml")
    with pytest.raises(SuiteError, match="expected a file, got a named pipe"):
        read_description(tmp_path / "mine.yaml")
