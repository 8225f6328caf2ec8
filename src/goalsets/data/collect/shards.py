"""The working directory of a collection: what is finished survives whatever happens to us.

A shard is a run of consecutive episodes in OGBench's format, so a shard is itself a small data set.
They follow each other without a gap; how far a collection has come is one number.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import re
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from goalsets.data.collect.episode import SPLITS, Job, Rows, Split
from goalsets.data.collect.errors import CollectError
from goalsets.data.collect.files import explained, write_in_one_step, write_json
from goalsets.data.collect.plan import Plan, differences, versions

INTERVAL = 5.0
"""Seconds from shard to shard: bounds what a kill can cost, and how many files there are."""

PLAN = "plan.json"


class Shards:
    """Finished episodes on disk, as a context manager that holds a lock on them.

    Args:
        directory: The working directory.
        plan: What is being collected; shards of another plan are an error.
        force: Remove shards of another plan instead.
    """

    def __init__(self, directory: Path, plan: Plan, *, force: bool = False) -> None:
        """Touch nothing yet."""
        self.directory = directory
        self.plan = plan
        self.finished = 0
        """Episodes on disk: those with numbers below this one."""
        self._force = force
        self._waiting: dict[int, Rows] = {}
        self._paths: dict[Split, list[Path]] = {"train": [], "validation": []}

    def __enter__(self) -> Shards:
        """Lock the directory, and see how far the collection has come."""
        with explained(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = _lock(self.directory)
        if lock is None:
            raise CollectError(
                f"another process is collecting {self.plan.task} into {self.directory.parent}."
            )
        self._lock = lock
        try:
            self._adopt_plan()
            self._find_shards()
        except BaseException:
            lock.close()
            raise
        self._written_at = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Unlock."""
        self._lock.close()

    def _adopt_plan(self) -> None:
        asked = {**self.plan.identity(), "versions": versions()}
        there = read_plan(self.directory)
        if there is not None and (found := differences(there, asked)):
            if not self._force:
                raise CollectError(
                    f"an unfinished collection in {self.directory} differs: {'; '.join(found)}. "
                    "Use --force to start over, or another --output."
                )
            for path in self.directory.glob("*.npz"):
                path.unlink()
        write_json(self.directory / PLAN, asked)

    def _find_shards(self) -> None:
        runs: list[tuple[int, int, Path]] = []
        for path in self.directory.glob("*.npz"):
            match = re.fullmatch(r"(train|validation)-(\d+)-(\d+)", path.stem)
            if match:
                split: Split = "train" if match[1] == "train" else "validation"
                first = self.plan.number(Job(split, int(match[2])))
                runs.append((first, first + int(match[3]) - int(match[2]), path))
        for first, stop, path in sorted(runs, key=lambda run: (run[0], -run[1])):
            if stop <= self.finished:
                # An interruption between a shard and its book-keeping: a longer one was written.
                path.unlink()
                continue
            if first != self.finished:
                raise CollectError(
                    f"a shard is missing before {path}: episode number {self.finished} was "
                    f"expected. Remove {self.directory} to start over."
                )
            self._paths[self.plan.job(first).split].append(path)
            self.finished = stop

    def paths(self, split: Split) -> list[Path]:
        """The shards of a split in their order."""
        return self._paths[split]

    def add(self, job: Job, rows: Rows) -> None:
        """Take a finished episode; it is on disk within the interval, or with `flush`."""
        self._waiting[self.plan.number(job)] = rows
        if time.monotonic() - self._written_at >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting, but for episodes that others must come before."""
        ready = itertools.takewhile(self._waiting.__contains__, itertools.count(self.finished))
        jobs = [self.plan.job(number) for number in ready]
        for split in SPLITS:
            if run := [job for job in jobs if job.split == split]:
                self._write(split, run)
        self._written_at = time.monotonic()

    def _write(self, split: Split, run: list[Job]) -> None:
        path = self.directory / f"{split}-{run[0].index:06d}-{run[-1].index + 1:06d}.npz"
        episodes = [self._waiting[self.plan.number(job)] for job in run]
        arrays: dict[str, Any] = {
            key: np.concatenate([rows[key] for rows in episodes]) for key in episodes[0]
        }
        write_in_one_step(path, lambda file: np.savez(file, **arrays))
        self._paths[split].append(path)
        for job in run:
            del self._waiting[self.plan.number(job)]
        self.finished += len(run)

    def remove(self) -> None:
        """Remove the working directory, when its episodes are safe elsewhere."""
        shutil.rmtree(self.directory)


def remove_leftovers(directory: Path) -> None:
    """Remove a working directory that nobody works in, if there is one."""
    if directory.exists() and (lock := _lock(directory)):
        shutil.rmtree(directory)
        lock.close()


def _lock(directory: Path) -> IO[bytes] | None:
    """Lock a working directory, unless another process has; the kernel unlocks it if we die."""
    file = (directory / "lock").open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def read_plan(directory: Path) -> dict[str, object] | None:
    """What is being collected in a working directory, if anything."""
    path = directory / PLAN
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
