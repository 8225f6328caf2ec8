"""The working directory of a collection: what is finished survives whatever happens to us.

A shard is a run of consecutive episodes in OGBench's format, so a shard is itself a small data set.
Those of a split follow each other without a gap; how far it has come is one number. An episode
depends on nothing but its seed, split and number, so a collection can grow.
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
"""Seconds from shard to shard: bounds what a kill can cost, and how many files there are."""

PLAN, LOCK = "plan.json", "lock"


class Shards:
    """Finished episodes on disk, as a context manager that holds a lock on them.

    Args:
        directory: The working directory.
        plan: What is being collected; shards of another plan are an error, unless it is this one
            with fewer episodes.
        force: Remove shards of another plan instead.
    """

    def __init__(self, directory: Path, plan: Plan, *, force: bool = False) -> None:
        """Touch nothing yet."""
        self.directory = directory
        self.plan = plan
        self.done: dict[Split, int] = {"train": 0, "validation": 0}
        """Episodes on disk of each split: those with numbers below this one."""
        self._force = force
        self._waiting: dict[Job, Rows] = {}
        self._paths: dict[Split, list[Path]] = {"train": [], "validation": []}
        self._lock = _lock(directory)

    def __enter__(self) -> Shards:
        """Lock the directory, and see how far the collection has come."""
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
        """Unlock; a directory that was emptied goes, too."""
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
                    # A longer one was written: an interruption came before its book-keeping, or
                    # the collection grows.
                    path.unlink()
                    continue
                if first != self.done[split]:
                    raise CollectError(
                        f"a shard is missing before {path}: {split} episode {self.done[split]} was "
                        f"expected. Remove {self.directory} to start over."
                    )
                self._paths[split].append(path)
                self.done[split] = stop

    def paths(self, split: Split) -> list[Path]:
        """The shards of a split in their order."""
        return self._paths[split]

    def add(self, job: Job, rows: Rows) -> None:
        """Take a finished episode; it is on disk within the interval, or with `flush`."""
        self._waiting[job] = rows
        if time.monotonic() - self._written_at >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting, but for episodes that others must come before."""
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
        """Begin with a file of finished episodes, unless there are more here."""
        if self.done[split] < count:
            with explained(path), path.open("rb") as file:
                copy = functools.partial(shutil.copyfileobj, file)
                write_in_one_step(self._path(split, 0, count), copy)
            self._find_shards()

    def remove(self) -> None:
        """Empty the working directory, when its episodes are safe elsewhere."""
        _clear(self.directory)


def remove_leftovers(directory: Path) -> None:
    """Remove a working directory that nobody works in, if there is one."""
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
    """Remove all but the lock, which goes last, with the directory, when it is let go."""
    for path in directory.iterdir():
        if path.name != LOCK:
            path.unlink()


def read_plan(directory: Path) -> dict[str, Any] | None:
    """What is being collected in a working directory, if anything."""
    path = directory / PLAN
    return read_about(path) if path.exists() else None


@dataclass(frozen=True)
class _About:
    episodes: dict[str, Count]


def read_about(path: Path) -> dict[str, Any]:
    """What a file says of a collection: its plan, and the versions of what it depends on."""
    plain = door.read_json(path, kind=CollectError)
    door.fit(plain, _About, str(path), kind=CollectError)
    return plain
