"""The working directory of a collection: finished episodes survive when the process is killed.

A shard holds consecutive episodes in OGBench's format, so it is itself a small data set. The shards
of a split follow each other without a gap, so one number says how far a split has come. An episode
depends only on its seed, split and number, so a collection can grow.
"""

from __future__ import annotations

import functools
import itertools
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from goalsets.collect.episode import SPLITS, Job, Rows, Split
from goalsets.collect.errors import CollectError
from goalsets.collect.files import explained, write_in_one_step, write_json
from goalsets.collect.plan import Plan, differences, versions
from goalsets.core import door
from goalsets.core.door.fit import Count
from goalsets.lock import Lock

INTERVAL = 5.0
"""Seconds between two shards. A killed process loses at most this time; a shorter interval would
make more files."""

PLAN, LOCK = "plan.json", "lock"


class Shards:
    """Finished episodes on disk. As a context manager it locks the directory.

    Args:
        directory: The working directory.
        plan: What is being collected. Shards of another plan are an error, unless the other plan
            only has fewer episodes.
        force: Remove shards of another plan instead of raising an error.
    """

    def __init__(self, directory: Path, plan: Plan, *, force: bool = False) -> None:
        """Prepare without touching any file."""
        self.directory = directory
        self.plan = plan
        self.done: dict[Split, int] = {"train": 0, "validation": 0}
        """For each split, the number of episodes on disk."""
        self._force = force
        self._waiting: dict[Job, Rows] = {}
        self._paths: dict[Split, list[Path]] = {"train": [], "validation": []}
        self._lock = _lock(directory)

    def __enter__(self) -> Shards:
        """Lock the directory and find the finished episodes."""
        self._lock.__enter__()
        try:
            self._adopt_plan()
            self._find_shards()
        except BaseException:
            self._lock.release()
            raise
        self._written_at = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unlock; if the directory is empty, remove it."""
        self._lock.release()

    @property
    def finished(self) -> int:
        """Episodes on disk."""
        return sum(self.done.values())

    def _adopt_plan(self) -> None:
        asked = {**self.plan.identity(), "versions": versions()}
        there = read_plan(self.directory)
        if there is not None and not self.plan.continues(there):
            found = differences(there, asked)
            if not self._force:
                raise CollectError(
                    f"an unfinished collection in {self.directory} differs: {'; '.join(found)}. "
                    "Use --force to start over, or another --output."
                )
            for path in self.directory.glob("*.npz"):
                path.unlink()
        write_json(self.directory / PLAN, asked)

    def _find_shards(self) -> None:
        for split in SPLITS:
            self.done[split], self._paths[split] = 0, []
            runs = [
                (int(match[1]), int(match[2]), path)
                for path in self.directory.glob(f"{split}-*.npz")
                if (match := re.fullmatch(rf"{split}-(\d+)-(\d+)", path.stem))
            ]
            for first, stop, path in sorted(runs, key=lambda run: (run[0], -run[1])):
                if stop <= self.done[split]:
                    # A longer shard covers this one: the process was interrupted after it wrote
                    # the longer one, or the collection has grown.
                    path.unlink()
                    continue
                if first != self.done[split]:
                    raise CollectError(
                        f"a shard is missing before {path}: expected {split} episode "
                        f"{self.done[split]}. Remove {self.directory} to start over."
                    )
                self._paths[split].append(path)
                self.done[split] = stop

    def paths(self, split: Split) -> list[Path]:
        """The shards of a split in their order."""
        return self._paths[split]

    def add(self, job: Job, rows: Rows) -> None:
        """Add a finished episode. It is written after the interval, or by `flush`."""
        self._waiting[job] = rows
        if time.monotonic() - self._written_at >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write the waiting episodes, up to the first gap in their numbers."""
        for split in SPLITS:
            following = (Job(split, index) for index in itertools.count(self.done[split]))
            if run := list(itertools.takewhile(self._waiting.__contains__, following)):
                self._write(split, run)
        self._written_at = time.monotonic()

    def _write(self, split: Split, run: list[Job]) -> None:
        path = self._path(split, run[0].index, run[-1].index + 1)
        episodes = [self._waiting[job] for job in run]
        arrays: dict[str, Any] = {
            key: np.concatenate([rows[key] for rows in episodes]) for key in episodes[0]
        }
        write_in_one_step(path, lambda file: np.savez(file, **arrays))
        self._paths[split].append(path)
        for job in run:
            del self._waiting[job]
        self.done[split] += len(run)

    def _path(self, split: Split, first: int, stop: int) -> Path:
        return self.directory / f"{split}-{first:06d}-{stop:06d}.npz"

    def take_in(self, split: Split, path: Path, count: int) -> None:
        """Copy a file of finished episodes here, unless there are as many already."""
        if self.done[split] < count:
            with explained(path), path.open("rb") as file:
                copy = functools.partial(shutil.copyfileobj, file)
                write_in_one_step(self._path(split, 0, count), copy)
            self._find_shards()

    def remove(self) -> None:
        """Empty the working directory after the final files are written."""
        _clear(self.directory)


def remove_leftovers(directory: Path) -> None:
    """Remove a working directory that no process uses, if there is one."""
    if not directory.exists():
        return
    lock = _lock(directory)
    if lock.take():
        _clear(directory)
        lock.release()


def _lock(directory: Path) -> Lock:
    task, place = directory.stem, directory.parent
    return Lock(directory / LOCK, f"collect {task} into {place}")


def _clear(directory: Path) -> None:
    """Remove all files except the lock. Releasing the lock removes it and the directory."""
    for path in directory.iterdir():
        if path.name != LOCK:
            path.unlink()


def read_plan(directory: Path) -> dict[str, Any] | None:
    """The plan of a working directory, if it has one."""
    path = directory / PLAN
    return read_about(path) if path.exists() else None


@dataclass(frozen=True)
class _About:
    episodes: dict[str, Count]


def read_about(path: Path) -> dict[str, Any]:
    """Read the description of a collection: its plan, and the versions of packages."""
    plain = door.read_json(path, kind=CollectError)
    door.fit(plain, _About, str(path), kind=CollectError)
    return plain
