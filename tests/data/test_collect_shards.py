"""The working directory: shards follow each other without a gap, and files are whole or absent."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from goalsets.collect import CollectError, shards
from goalsets.collect.episode import Job
from goalsets.collect.files import join, write_in_one_step
from goalsets.collect.plan import Plan, differences
from goalsets.collect.recipes import RECIPES
from goalsets.collect.shards import Shards, remove_leftovers
from goalsets.lock import InUseError

PLAN = Plan("pointmaze-medium-stitch-v0", RECIPES["pointmaze-medium-stitch-v0"], 0, 5, 2)


JOBS = list(PLAN.jobs({"train": 0, "validation": 0}))


@pytest.fixture(autouse=True)
def _write_when_told(monkeypatch):
    monkeypatch.setattr(shards, "INTERVAL", 1e9)


def rows(number: int) -> dict[str, np.ndarray]:
    terminals = np.array([False, False, True])
    return {"observations": np.full((3, 2), number, dtype=np.float32), "terminals": terminals}


def names(directory) -> list[str]:
    return sorted(path.name for path in directory.glob("*.npz"))


def test_episodes_wait_for_those_before_them(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        kept.add(Job("train", 1), rows(1))
        kept.flush()
        assert (kept.finished, names(kept.directory)) == (0, [])
        kept.add(Job("train", 0), rows(0))
        kept.flush()
        assert (kept.finished, names(kept.directory)) == (2, ["train-000000-000002.npz"])


def test_a_shard_has_one_split(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        for number in range(7):
            kept.add(JOBS[number], rows(number))
        kept.flush()
        found = ["train-000000-000005.npz", "validation-000000-000002.npz"]
        assert names(kept.directory) == found
    with Shards(tmp_path / "work", PLAN) as kept:
        assert kept.finished == 7
        assert [path.name for path in kept.paths("validation")] == found[1:]


def test_shards_are_written_from_time_to_time(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "INTERVAL", 0.0)
    with Shards(tmp_path / "work", PLAN) as kept:
        for number in range(3):
            kept.add(JOBS[number], rows(number))
        assert kept.finished == 3


def test_joined_shards_are_one_archive(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        for number in range(4):
            kept.add(JOBS[number], rows(number))
            kept.flush()
        steps = write_in_one_step(tmp_path / "x.npz", lambda file: join(kept.paths("train"), file))
    assert steps == 12
    with np.load(tmp_path / "x.npz") as whole:
        np.testing.assert_array_equal(whole["observations"][:, 0], np.repeat(range(4), 3))
        assert whole["terminals"].dtype == np.bool_


def test_overlap_after_an_interruption(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        kept.add(JOBS[0], rows(0))
        kept.flush()
        (kept.directory / "train-000000-000001.npz").rename(tmp_path / "shorter")
    with Shards(tmp_path / "work", PLAN) as kept:
        for number in range(3):
            kept.add(JOBS[number], rows(number))
        kept.flush()
        (tmp_path / "shorter").rename(kept.directory / "train-000000-000001.npz")
    with Shards(tmp_path / "work", PLAN) as kept:
        assert kept.finished == 3
        assert names(kept.directory) == ["train-000000-000003.npz"]


def test_missing_shard(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        for number in range(2):
            kept.add(JOBS[number], rows(number))
            kept.flush()
        kept.paths("train")[0].unlink()
    with (
        pytest.raises(CollectError, match="a shard is missing before .*train-000001"),
        Shards(tmp_path / "work", PLAN),
    ):
        pass


def test_another_plan(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        kept.add(JOBS[0], rows(0))
        kept.flush()
    other = replace(PLAN, seed=3)
    with (
        pytest.raises(CollectError, match=r"differs: seed is 0, not 3. Use --force"),
        Shards(tmp_path / "work", other),
    ):
        pass
    with Shards(tmp_path / "work", PLAN) as kept:
        assert kept.finished == 1
    with Shards(tmp_path / "work", other, force=True) as kept:
        assert kept.finished == 0


def test_a_collection_grows(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        for number, job in enumerate(JOBS):
            kept.add(job, rows(number))
        kept.flush()
    larger = replace(PLAN, train=30, validation=3)
    with Shards(tmp_path / "work", larger) as kept:
        assert kept.done == {"train": 5, "validation": 2}
        left = list(larger.jobs(kept.done))
        assert (left[0], left[-1], len(left)) == (Job("train", 5), Job("validation", 2), 26)
    with pytest.raises(CollectError, match=r"episodes\.train is 30, not 5"):
        Shards(tmp_path / "work", PLAN).__enter__()


def test_other_versions_are_not_mixed(tmp_path):
    with Shards(tmp_path / "work", PLAN):
        path = tmp_path / "work" / "plan.json"
        plan = json.loads(path.read_text())
        plan["versions"]["mujoco"] = "2.0"
        path.write_text(json.dumps(plan))
    with (
        pytest.raises(CollectError, match=r"versions\.mujoco is 2\.0, not"),
        Shards(tmp_path / "work", PLAN),
    ):
        pass


def test_only_one_at_a_time(tmp_path):
    with Shards(tmp_path / "work", PLAN) as kept:
        with (
            pytest.raises(InUseError, match=r"in use by process \d+ on"),
            Shards(tmp_path / "work", PLAN),
        ):
            pass
        remove_leftovers(kept.directory)
        assert kept.directory.exists()
    remove_leftovers(kept.directory)
    assert not kept.directory.exists()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.npz"
    write_in_one_step(path, lambda file: file.write(b"old"))

    def fail(file):
        file.write(b"new")
        raise OSError(28, "No space left on device")

    with pytest.raises(CollectError, match="cannot write .*: No space left on device"):
        write_in_one_step(path, fail)
    assert path.read_bytes() == b"old"


def test_differences_name_the_entry():
    assert differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}) == ["a.c is 2, not 3"]
    assert differences({"more": 1}, {}) == []
