"""Tables beside a store: computed once, never trusted blindly, and no reason to fail."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goalsets import Group, StateLayout
from goalsets.data.store import DERIVED, Store
from goalsets.data.writer import write_store
from goalsets.relabel import arrivals as module
from goalsets.relabel import kept
from goalsets.relabel.arrivals import Arrivals
from goalsets.relabel.units import Rule
from tests.relabel import arriving

LAYOUT = StateLayout(
    5, [Group("pos", (0, 1), tolerance=0.3), Group("vel", (2, 3))], task="pos", name="small"
)
RULE = Rule(LAYOUT, np.ones(5, np.float32))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    rng = np.random.default_rng(0)
    train, validation = (arriving.some_trajectories(rng, 5, n) for n in ((50, 30), (20,)))
    return write_store(tmp_path / "store", train, validation, layout=LAYOUT)


def files(store: Store) -> list[Path]:
    return sorted(path for path in store.path.iterdir() if path.name.startswith(DERIVED))


def expected(store: Store) -> np.ndarray:
    return Arrivals(RULE, store.train).groups


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often a table is computed."""
    calls: list[int] = []
    held = module.held

    def counted(*arguments: object) -> Iterator[np.ndarray]:
        calls.append(1)
        return held(*arguments)

    monkeypatch.setattr(module, "held", counted)
    return calls


@pytest.fixture(params=["read", "mapped"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "mapped":
        monkeypatch.setattr(kept, "MAPPED_BYTES", 0)
    return request.param


def test_a_table_is_computed_once(store: Store, computed: list[int], size: str) -> None:
    first = Arrivals.of_store(store, "train", RULE)
    again = Arrivals.of_store(Store.open(store.path), "train", Rule(LAYOUT, RULE.std.copy()))
    np.testing.assert_array_equal(first.groups, again.groups)
    assert len(computed) == 1
    np.testing.assert_array_equal(again.groups, expected(store))
    assert again.groups.dtype == np.uint16
    (file,) = files(store)
    assert file.name.startswith("derived-arrivals-train-groups-")
    np.testing.assert_array_equal(np.load(file), first.groups)


def test_what_it_depends_on_decides_its_name(store: Store, computed: list[int]) -> None:
    tighter = StateLayout(5, [Group("pos", (0, 1), tolerance=0.2), Group("vel", (2, 3))])
    for split in ("train", "validation"):
        _ = Arrivals.of_store(store, split, RULE).groups
        _ = Arrivals.of_store(store, split, RULE).coordinates
    for rule in (
        Rule(tighter, RULE.std),
        replace(RULE, epsilon=0.1),
        replace(RULE, std=RULE.std * 2),
    ):
        _ = Arrivals.of_store(store, "train", rule).groups
    assert len(computed) == len(files(store)) == 7


@pytest.mark.parametrize("damage", ["cut", "longer", "bit", "nonsense", "empty", "another's"])
def test_what_is_damaged_is_computed_again(
    damage: str, store: Store, computed: list[int], size: str
) -> None:
    _ = Arrivals.of_store(store, "train", RULE).groups
    (file,) = files(store)
    content = bytearray(file.read_bytes())
    if damage == "another's":
        other = replace(RULE, epsilon=0.5)
        _ = Arrivals.of_store(store, "train", other).groups
        foreign = next(path for path in files(store) if path != file)
        content = bytearray(foreign.read_bytes())
        assert not np.array_equal(np.load(foreign), np.load(file))
    if damage == "bit":
        content[-40] ^= 1
    changed = {"cut": content[:-7], "longer": content + b"x", "nonsense": b"\0" * 999, "empty": b""}
    file.write_bytes(changed.get(damage, content))
    before = len(computed)
    found = Arrivals.of_store(store, "train", RULE)
    np.testing.assert_array_equal(found.groups, expected(store))
    assert len(computed) == before + 2  # and once by `expected`
    np.testing.assert_array_equal(Arrivals.of_store(store, "train", RULE).groups, found.groups)
    assert len(computed) == before + 2, "the file is good again"


def test_nothing_fails_where_nothing_can_be_written(store: Store, size: str) -> None:
    said: list[str] = []
    nowhere = kept.Kept(store.path / "nowhere", "arrivals-train", store.fingerprint, said.append)
    found = Arrivals(RULE, store.train, nowhere).groups
    np.testing.assert_array_equal(found, expected(store))
    assert len(said) == 1
    assert "cannot be written (No such file or directory); training continues" in said[0]


def test_a_full_disk_leaves_nothing_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    np.testing.assert_array_equal(Arrivals.of_store(store, "train", RULE).groups, expected(store))
    assert files(store) == []


def test_two_at_once(store: Store, size: str) -> None:
    """Both compute, both write, and whoever comes later reads one of two equal files."""
    with ThreadPoolExecutor(4) as pool:
        both = list(pool.map(lambda _: Arrivals.of_store(store, "train", RULE).groups, range(8)))
    for found in both:
        np.testing.assert_array_equal(found, expected(store))
    assert len(files(store)) == 1


def test_what_a_killed_process_left_is_cleared_away(store: Store) -> None:
    old, new = (store.path / f"{DERIVED}arrivals-{name}.tmp" for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 1e6, time.time() - 1e6))
    _ = Arrivals.of_store(store, "train", RULE).groups
    assert not old.exists()
    assert new.exists(), "somebody may be writing it"


def test_a_store_that_is_written_anew_has_none_of_the_old(store: Store) -> None:
    _ = Arrivals.of_store(store, "train", RULE).groups
    assert len(files(store)) == 1
    rng = np.random.default_rng(1)
    anew = write_store(store.path, arriving.some_trajectories(rng, 5, (9,)), layout=LAYOUT)
    assert files(anew) == []
    assert Arrivals.of_store(anew, "train", RULE).groups.shape == (9, 2)
