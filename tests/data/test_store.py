"""The store: what goes in comes out, in either backing; nothing is half-written or half-read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalsets import Episode, GoalsetsError, Group, StateLayout
from goalsets.data.store import Store, StoreError
from goalsets.data.trajectories import Trajectories
from goalsets.data.writer import StoreWriter, write_store
from goalsets.lock import InUseError

LAYOUT = StateLayout(3, [Group("pos", (0, 1), tolerance=0.1)], task="pos", name="tiny")


def make_episodes(lengths: list[int], seed: int = 0) -> list[Episode]:
    rng = np.random.default_rng(seed)
    return [
        Episode(
            rng.normal(size=(length + 1, 3)).astype(np.float32),
            rng.uniform(-1, 1, (length, 2)).astype(np.float32),
            {"qpos": rng.normal(size=(length + 1, 5)), "button": np.arange(length + 1)},
        )
        for length in lengths
    ]


def assert_same(left: Episode, right: Episode) -> None:
    np.testing.assert_array_equal(left.observations, right.observations)
    np.testing.assert_array_equal(left.actions, right.actions)
    assert left.extras.keys() == right.extras.keys()
    for name in left.extras:
        np.testing.assert_array_equal(left.extras[name], right.extras[name])
        assert left.extras[name].dtype == right.extras[name].dtype


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("lengths", [[4, 4, 4], [5, 1, 9, 2], [3, 0, 2]])
def test_round_trip(tmp_path: Path, lengths: list[int], mapped: bool) -> None:
    train, validation = make_episodes(lengths), make_episodes([3, 6], seed=1)
    written = write_store(tmp_path / "s", train, validation, layout=LAYOUT, source="a test")
    store = Store.open(tmp_path / "s", mapped=mapped)
    assert isinstance(store.train.observations, np.memmap) == mapped
    assert store.layout == LAYOUT
    assert store.source == "a test"
    assert store.train.num_episodes == len(lengths)
    assert store.train.num_transitions == sum(lengths)
    assert store.validation.num_transitions == 9
    for split, episodes in (("train", train), ("validation", validation)):
        for got, expected in zip(store.split(split), episodes, strict=True):
            assert_same(got, expected)
    assert store.fingerprint == written.fingerprint
    store.verify()


def test_dictionaries_belong_elsewhere(tmp_path: Path) -> None:
    episode: Any = {"observations": np.zeros((3, 2)), "actions": np.zeros((2, 1))}
    with pytest.raises(StoreError, match="expected an Episode, got a dict. goalsets.data.from_epi"):
        write_store(tmp_path / "s", [episode])
    assert not (tmp_path / "s").exists()


def test_arrays_are_plain_numpy_files(tmp_path: Path) -> None:
    episodes = make_episodes([4, 2])
    store = write_store(tmp_path / "s", episodes)
    (path,) = tmp_path.glob("s/data-*/observations.npy")
    expected = np.concatenate([e.observations for e in episodes])
    np.testing.assert_array_equal(np.load(path), expected)
    np.testing.assert_array_equal(np.load(path, mmap_mode="r"), expected)
    assert store.validation.num_episodes == 0


def test_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    first = write_store(tmp_path / "a", make_episodes([4, 2]))
    same = write_store(tmp_path / "b", make_episodes([4, 2]), source="elsewhere")
    other = write_store(tmp_path / "c", make_episodes([4, 2], seed=5))
    cut = write_store(tmp_path / "d", make_episodes([2, 4]))
    split = write_store(tmp_path / "e", make_episodes([4, 2])[:1], make_episodes([4, 2])[1:])
    assert first.fingerprint == same.fingerprint
    assert len({s.fingerprint for s in (first, other, cut, split)}) == 4


@given(st.lists(st.integers(0, 6), min_size=1, max_size=8).filter(lambda x: sum(x) > 0))
def test_every_transition_is_located(lengths: list[int]) -> None:
    trajectories = Trajectories.from_episodes(make_episodes(lengths))
    for part in (trajectories, trajectories.slice(1, len(lengths))):
        rows, ends = part.locate(np.arange(part.num_transitions))
        expected_rows, expected_ends = [], []
        for start, stop in zip(part.offsets[:-1], part.offsets[1:], strict=True):
            expected_rows += range(start, stop - 1)
            expected_ends += [stop - 1] * (stop - start - 1)
        assert rows.tolist() == expected_rows
        assert ends.tolist() == expected_ends


def test_draws_are_uniform() -> None:
    trajectories = Trajectories.from_episodes(make_episodes([2, 7, 1]))
    rng = np.random.default_rng(0)
    rows, ends = trajectories.draw_transitions(50_000, rng)
    counts = np.bincount(rows, minlength=13)
    assert (counts[[2, 10, 12]] == 0).all(), "a last state started a transition"
    np.testing.assert_allclose(counts[counts > 0], 5_000, atol=400)
    assert (ends >= rows + 1).all()
    states = np.bincount(trajectories.draw_states(50_000, rng), minlength=13)
    np.testing.assert_allclose(states, 50_000 / 13, atol=400)


def test_unknown_episode(tmp_path: Path) -> None:
    trajectories = Trajectories.from_episodes(make_episodes([2, 7]))
    with pytest.raises(GoalsetsError, match="episode 2 does not exist: there are 2"):
        trajectories.episode(2)
    with pytest.raises(GoalsetsError, match="at least one episode"):
        Trajectories.from_episodes([])


# --- What is wrong is named ---------------------------------------------------------------------


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    write_store(tmp_path / "s", make_episodes([4, 2, 5]), make_episodes([3]), layout=LAYOUT)
    return tmp_path / "s"


def array_file(store: Path, name: str) -> Path:
    (path,) = store.glob(f"data-*/{name}.npy")
    return path


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", ["observations", "actions", "offsets", "extra.qpos"])
def test_truncated_file_is_named(store_path: Path, name: str, mapped: bool) -> None:
    path = array_file(store_path, name)
    os.truncate(path, path.stat().st_size - 4)
    with pytest.raises(StoreError, match=rf"{name}\.npy is truncated or damaged"):
        Store.open(store_path, mapped=mapped)


def test_corrupt_file_is_named(store_path: Path) -> None:
    path = array_file(store_path, "actions")
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"actions\.npy is corrupt"):
        Store.open(store_path)
    with pytest.raises(StoreError, match=r"actions\.npy is corrupt"):
        Store.open(store_path, mapped=True).verify()


def test_mismatching_file_is_named(store_path: Path) -> None:
    np.save(array_file(store_path, "actions"), np.zeros((3, 2), np.float32))
    with pytest.raises(
        StoreError, match=r"actions\.npy does not fit the store: expected float32\[18"
    ):
        Store.open(store_path)


def test_missing_file_is_named(store_path: Path) -> None:
    array_file(store_path, "actions").unlink()
    with pytest.raises(StoreError, match=r"actions\.npy is missing"):
        Store.open(store_path)


def test_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is not a store: it has no store\.json"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text("{}")
    with pytest.raises(StoreError, match="is not the index of a store"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text("{")
    with pytest.raises(StoreError, match=r"store\.json is not JSON"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": "goalsets-store", "version": 99}')
    with pytest.raises(StoreError, match="a store of version 99"):
        Store.open(tmp_path)
    (tmp_path / "store.json").write_text('{"format": "goalsets-store", "version": 1}')
    with pytest.raises(StoreError, match="is damaged: there is no 'data'"):
        Store.open(tmp_path)


def test_damaged_index_is_found(store_path: Path) -> None:
    index = json.loads((store_path / "store.json").read_text())
    index["splits"]["train"] = 9
    (store_path / "store.json").write_text(json.dumps(index))
    with pytest.raises(StoreError, match=r"counts 9 \+ 1 episodes, and the arrays have 4"):
        Store.open(store_path)


def test_writer_refuses_what_does_not_fit(tmp_path: Path) -> None:
    one, two = make_episodes([3, 3])
    wide = Episode(np.zeros((3, 4), np.float32), one.actions[:2], {})
    with pytest.raises(StoreError, match="the layout 'tiny' has 3 coordinates, and the data has 4"):
        write_store(tmp_path / "a", [wide], layout=LAYOUT)
    bare = Episode(two.observations, two.actions)
    with pytest.raises(StoreError, match="episode 1 and earlier episodes differ in 'button'"):
        write_store(tmp_path / "b", [one, bare])
    with pytest.raises(StoreError, match=r"episode 1: 'observations' has rows of float32\[4\]"):
        write_store(tmp_path / "c", [bare, wide])
    with pytest.raises(StoreError, match="has no episode to train on"):
        write_store(tmp_path / "d", [])
    with pytest.raises(StoreError, match="after one for validation"):
        with StoreWriter(tmp_path / "e", None, "test") as writer:
            writer.add(one, "validation")
            writer.add(two, "train")
    assert list(tmp_path.iterdir()) == [], "a refused store left something behind"
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"is not a store and not empty \(it has note\.txt\)"):
        write_store(tmp_path, [one])
    assert (tmp_path / "note.txt").exists()


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", None, "first"):
        with pytest.raises(InUseError, match=r"in use by process \d+ on"):
            write_store(tmp_path / "s", make_episodes([2]))


def test_replacing_keeps_the_old_store_until_the_end(store_path: Path) -> None:
    old = Store.open(store_path, mapped=True)
    first = np.array(old.train.observations[:5])
    with pytest.raises(RuntimeError, match="boom"):
        with StoreWriter(store_path, None, "broken") as writer:
            writer.add(make_episodes([4])[0])
            raise RuntimeError("boom")
    assert Store.open(store_path).fingerprint == old.fingerprint
    new = write_store(store_path, make_episodes([4, 4], seed=9))
    assert new.fingerprint != old.fingerprint
    assert len(list(store_path.glob("data-*"))) == 1
    # A reader of the old data is not disturbed.
    np.testing.assert_array_equal(old.train.observations[:5], first)


KILLED = textwrap.dedent(
    """
    import sys, time
    from goalsets.data.writer import StoreWriter
    from tests.data.test_store import make_episodes

    with StoreWriter(sys.argv[1], None, "killed") as writer:
        for episode in make_episodes([50] * 20, seed=3):
            writer.add(episode)
        print("half", flush=True)
        time.sleep(60)
    """
)


@pytest.mark.parametrize("existing", [False, True])
def test_killed_conversion_leaves_the_old_store_or_none(tmp_path: Path, existing: bool) -> None:
    path = tmp_path / "s"
    old = write_store(path, make_episodes([4])).fingerprint if existing else None
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, cwd=root
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"half\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    if existing:
        assert Store.open(path).fingerprint == old
    else:
        with pytest.raises(StoreError, match="is not a store"):
            Store.open(path)
    again = write_store(path, make_episodes([7]))  # and the next one clears up
    assert again.train.num_transitions == 7
    assert len(list(path.glob("data-*"))) == 1


def test_full_disk_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails in the middle names the file and leaves the old store."""
    path = tmp_path / "s"
    old = write_store(path, make_episodes([4]))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with StoreWriter(path, None, "too large") as writer:
        writer.add(make_episodes([4])[0])
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="cannot write .*npy: No space left on device"):
            writer.finish()
    monkeypatch.undo()
    assert Store.open(path).fingerprint == old.fingerprint
