"""How a sweep stands, read from its files: anybody can look, at any time."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from goalsets.sweep.files import read_sweep
from goalsets.sweep.grid import Job, Sweep, SweepError
from goalsets.sweep.prepare import suite_paths
from goalsets.sweep.state import Status, read_status
from goalsets.sweep.work import Duties

SWEEP, RUNS = "sweep.yaml", "runs"
Standing = Literal["done", "running", "waiting", "failed"]
STANDINGS: tuple[Standing, ...] = ("done", "running", "waiting", "failed")


def duties_of(sweep: Sweep, directory: Path, job: Job) -> Duties:
    """What a sweep wants done with a run."""
    suites = suite_paths(sweep, directory, job.config)
    planned = suite_paths(sweep, directory, job.config, planned=True)
    return Duties(sweep.pace_of(job.config), sweep.evaluation, suites, planned)


@dataclass(frozen=True)
class Entry:
    """A run, and how it stands."""

    job: Job
    standing: Standing
    status: Status | None


@dataclass(frozen=True)
class Survey:
    """Runs of a sweep, and how they stand."""

    sweep: Sweep
    entries: tuple[Entry, ...]

    @property
    def counts(self) -> Counter[Standing]:
        """How many there are of each standing."""
        return Counter(entry.standing for entry in self.entries)

    def of(self, standing: Standing) -> list[Entry]:
        """The runs of a standing."""
        return [entry for entry in self.entries if entry.standing == standing]

    def seconds_left(self, slots: int) -> float | None:
        """An estimate: what runs of the same kind took, spread over so many at a time."""
        typical = _typical_seconds(self.entries)
        left = 0.0
        for entry in self.entries:
            if entry.standing in ("running", "waiting"):
                whole = typical.get(_kind(entry.job), typical.get(None))
                if whole is None:
                    return None
                spent = entry.status.seconds if entry.status is not None else 0.0
                left += max(whole - spent, 0.0)
        return left / max(1, slots)


def survey(directory: Path, sweep: Sweep | None = None, only: Sequence[str] = ()) -> Survey:
    """Look at the files of a sweep.

    Args:
        directory: The sweep's directory.
        sweep: The sweep; the one that the directory was last used for unless given.
        only: Patterns: only runs whose name fits one of them.
    """
    if sweep is None:
        if not (directory / SWEEP).exists():
            raise SweepError(f"{directory} is no sweep: it has no {SWEEP}.")
        sweep = read_sweep(directory / SWEEP)
    duties: dict[str, str] = {}
    entries: list[Entry] = []
    for job in (job for job in sweep.jobs() if job.fits(only)):
        task = job.config.task
        if task not in duties:  # the pace is no part of the digest, so it is the task's
            duties[task] = duties_of(sweep, directory, job).digest
        status = read_status(directory / RUNS / job.name)
        entries.append(Entry(job, _standing(status, duties[task]), status))
    return Survey(sweep, tuple(entries))


def _standing(status: Status | None, duties: str) -> Standing:
    if status is None:
        return "waiting"
    if status.state == "running":
        return "running" if status.alive else "waiting"
    # A finished run of which more is wanted now waits for the rest.
    if status.state in ("done", "failed") and status.duties == duties:
        return "done" if status.state == "done" else "failed"
    return "waiting"


def _kind(job: Job) -> tuple[str, str]:
    return job.config.task, job.config.learner


def _typical_seconds(entries: tuple[Entry, ...]) -> Mapping[tuple[str, str] | None, float]:
    """The median time of finished runs by task and learner, and under None that of all.

    Where none of a kind is finished, the progress of those that run stands in.
    """
    found: dict[tuple[str, str] | None, list[float]] = {}
    for entry in entries:
        status = entry.status
        if status is None:
            continue
        if entry.standing == "done":
            seconds = status.seconds
        elif entry.standing == "running" and 0 < status.step < status.steps:
            seconds = status.seconds * status.steps / status.step
        else:
            continue
        found.setdefault(_kind(entry.job), []).append(seconds)
        found.setdefault(None, []).append(seconds)
    return {kind: statistics.median(values) for kind, values in found.items()}
