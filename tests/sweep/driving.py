"""Drives sweeps, waits for them, and tells whether runs are equal."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file

from goalsets.data.store import Store
from goalsets.runs.weights import CHECKPOINT
from goalsets.sweep.drive import Summary, run_sweep
from goalsets.sweep.files import write_sweep
from goalsets.sweep.grid import Sweep
from goalsets.sweep.local import LocalEngine
from goalsets.sweep.survey import RUNS
from goalsets.sweep.work import Work, work
from goalsets.train.log import METRICS
from goalsets.train.session import train


def drive(
    sweep: Sweep, place: Path, do: Work = work, processes: int = 1, **options: object
) -> Summary:
    return run_sweep(sweep, place, LocalEngine(processes=processes, do=do), **options)


def assert_same_runs(left: Path, right: Path, sweep: Sweep) -> None:
    """Equal weights, optimisers and generators, and equal metrics but for the time."""
    for job in sweep.jobs():
        ours, theirs = left / RUNS / job.name, right / RUNS / job.name
        a, b = load_file(ours / CHECKPOINT), load_file(theirs / CHECKPOINT)
        assert a.keys() == b.keys()
        assert all(torch.equal(a[key], b[key]) for key in a)
        rows = [
            [line.split(",")[:1] + line.split(",")[2:] for line in text.splitlines()]
            for text in ((path / METRICS).read_text() for path in (ours, theirs))
        ]
        assert rows[0] == rows[1]


def worked(place: Path, sweep: Sweep) -> list[int]:
    """How often each run was begun."""
    files = [place / RUNS / job.name / "worked" for job in sweep.jobs()]
    return [file.stat().st_size if file.exists() else 0 for file in files]


def where(place: Path, sweep: Sweep) -> list[str]:
    """On what each run would have trained, as `noop.where` notes it."""
    return [(place / RUNS / job.name / "where").read_text() for job in sweep.jobs()]


def train_apart(sweep: Sweep, place: Path, data_home: Path) -> None:
    """Make the runs of a sweep as `goalsets train` does, without engine or driver."""
    for job in sweep.jobs():
        store = Store.open(data_home / job.config.task)
        train(job.config, store, place / RUNS / job.name, pace=sweep.pace_of(job.config))


def start_driver(sweep: Sweep, place: Path, *words: str) -> subprocess.Popen[str]:
    file = place.with_suffix(".yaml")
    write_sweep(sweep, file)
    command = [sys.executable, "-m", "goalsets", "sweep", str(file), "-o", str(place), *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for(true: Callable[[], object], seconds: float = 200.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)
