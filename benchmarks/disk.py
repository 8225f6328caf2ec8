"""Training from a large store on disk, compared with training from a copy in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import torch

from benchmarks.learners import timed
from benchmarks.line import Line
from benchmarks.peak_memory import peak_kib
from goalsets.data.drawing import DataPlace
from goalsets.data.store import Store
from goalsets.runs.config import TrainConfig
from goalsets.train.loop import Trainer
from goalsets.train.session import Pace, prepare

TASK, DIM, ACTIONS = "scene-play-v0", 40, 5
BATCH, PAIRS = 1024, 60


def lines(path: Path, what: str) -> Iterator[Line]:
    """Yield the lines for a store, in processes that have never held its data."""
    speed, resident = (_in_own_process(path, kind) for kind in ("speed", "resident"))
    name = f"{what}, GCBC {BATCH}"
    yield Line(f"{name}: step in memory", speed["memory"], "ms")
    yield Line(f"{name}: step on disk / in memory", speed["ratio"], "", 1.1, at_most=True)
    yield Line(f"{name}, on disk: resident", resident["gib"], "GiB", 1.0, at_most=True)


def _in_own_process(path: Path, kind: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.disk", str(path), kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def make_trainer(path: Path, place: DataPlace, run: Path) -> Trainer:
    """A trainer as in `goalsets train`, with all that it reads before the first step."""
    store = Store.open(path, mapped=True)
    store.verify()
    config = TrainConfig(TASK, batch_size=BATCH)
    return prepare(config, store, run, pace=Pace(), resume=False, data_in=place)[1]


def speed(path: Path, runs: Path) -> dict[str, float]:
    """Steps in turns, so that other load affects both alike."""
    memory, disk = (make_trainer(path, place, runs / place) for place in ("memory", "disk"))
    for _ in range(5):
        memory.step(), disk.step()
    pairs = [(timed(memory.step), timed(disk.step)) for _ in range(PAIRS)]
    ratio = median(d for _, d in pairs) / median(m for m, _ in pairs)
    return {"memory": 1e3 * median(m for m, _ in pairs), "ratio": ratio}


def resident(path: Path, runs: Path) -> dict[str, float]:
    """The peak memory of a whole training; most of its steps only draw a batch."""
    trainer = make_trainer(path, "disk", runs / "disk")
    trainer.run(until=50)
    for _ in range(trainer.sampler.source.data.num_transitions // BATCH // 4):
        trainer.draw()  # a quarter of a turn: three times, all that is in the window is replaced
    return {"gib": peak_kib() / (1 << 20)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as directory:
        measure = {"speed": speed, "resident": resident}[sys.argv[2]]
        print(json.dumps(measure(Path(sys.argv[1]), Path(directory))))
