"""Gather random batches with future goals, in memory and from a large memory-mapped store."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import disk
from benchmarks.line import Line, one_core, rate
from benchmarks.peak_memory import peak_kib
from goalsets import Episode
from goalsets.data.drawing import DataSource
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.data.window import WINDOW_BYTES
from goalsets.data.writer import StoreWriter

BATCH, DIM, ACTIONS, LENGTH = 1024, disk.DIM, disk.ACTIONS, 1000
SMALL, LARGE = 300, 20_000
"""Episodes of a thousand transitions each."""


def lines() -> Iterator[Line]:
    """Yield the lines; the large store is written to a temporary directory, 3.6 GB."""
    small = DataSource(Trajectories.from_episodes(list(_episodes(SMALL))))
    with one_core():
        cost = 1e3 / rate(_gatherer(small))
    yield Line("gather 1024 with future goals, in memory", cost, "ms", 1.0, at_most=True)
    del small
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "large"
        with StoreWriter(path, None, "benchmark") as writer:
            for episode in _episodes(LARGE):
                writer.add(episode)
            writer.finish()
        for kind, limit in (("window", True), ("everywhere", False)):
            found = _in_own_process(path, kind)
            name = f"20M transitions, mapped, {kind}"
            target = 2.0 if limit else None
            yield Line(f"{name}: cost / in memory", found["ratio"], "", target, at_most=True)
            target = 1.0 if limit else None
            yield Line(f"{name}: resident", found["gib"], "GiB", target, at_most=True)
        yield from disk.lines(path, "20M transitions")


def _episodes(count: int) -> Iterator[Episode]:
    rng = np.random.default_rng(0)
    observations = rng.random((LENGTH + 1, DIM), dtype=np.float32)
    actions = rng.random((LENGTH, ACTIONS), dtype=np.float32)
    return (Episode(observations, actions) for _ in range(count))


def _gatherer(source: DataSource) -> Callable[[], int]:
    """A function that gathers one batch: s, a, s', and a future state as the goal."""
    rng = np.random.default_rng(0)

    def gather() -> None:
        rows, ends = source.draw_transitions(BATCH, rng)
        ahead = (rng.random(BATCH) ** 2 * 200).astype(np.int64) + 1
        goals = np.minimum(rows + ahead, ends)
        _ = source.states(rows), source.taken_actions(rows), source.states(rows + 1)
        _ = source.states(goals)
        source.advance(BATCH)

    def several() -> int:  # several batches, so that every measurement includes a moved window
        for _ in range(20):
            gather()
        return 20

    return several


def _in_own_process(path: Path, kind: str) -> dict[str, float]:
    """Measure in a process that has never held the data, so that its memory counts alone."""
    command = [sys.executable, "-m", "benchmarks.store", str(path), kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def _measure(path: Path, kind: str) -> dict[str, float]:
    for file in path.glob("data-*/*.npy"):  # bring it into the page cache
        with file.open("rb") as stream:
            while stream.read(1 << 24):
                pass
    store = Store.open(path, mapped=True)
    large = DataSource(store.train, window_bytes=WINDOW_BYTES if kind == "window" else None)
    small = DataSource(Trajectories.from_episodes(list(_episodes(SMALL))))
    mapped, in_memory = _gatherer(large), _gatherer(small)
    with one_core():  # in turns, so that other load affects both alike
        ratios = sorted(rate(in_memory, 1.0) / rate(mapped, 1.0) for _ in range(7))
    return {"ratio": ratios[3], "gib": peak_kib() / (1 << 20)}


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]), sys.argv[2])))
