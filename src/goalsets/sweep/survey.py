"""The progress of a sweep, read from its files at any time."""

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
    """The work that a sweep wants for a run, besides training."""
    suites = suite_paths(sweep, directory, job.config)
    planned = suite_paths(sweep, directory, job.config, planned=True)
    return Duties(sweep.pace_of(job.config), sweep.evaluation, suites, planned)


@dataclass(frozen=True)
class Entry:
    """A run and its standing."""

    job: Job
    standing: Standing
    status: Status | None


@dataclass(frozen=True)
class Survey:
    """The runs of a sweep and their standings."""

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
        """An estimate from the times of similar runs, with `slots` runs at a time."""
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
    """Read the progress of a sweep from its files.

    Args:
        directory: The sweep's directory.
        sweep: The sweep; by default the one that the directory was last used for.
        only: Patterns: only runs whose name matches one of them.
    """
    if sweep is None:
        if not (directory / SWEEP).exists():
            raise SweepError(
                f"{directory} is not the directory of a sweep: it has no {SWEEP}. 'goalsets sweep' "
                "makes one."
            )
        sweep = read_sweep(directory / SWEEP)
    duties: dict[str, str] = {}
    entries: list[Entry] = []
    for job in (job for job in sweep.jobs() if job.fits(only)):
        task = job.config.task
        if task not in duties:  # the digest does not depend on the pace, so one for each task
            duties[task] = duties_of(sweep, directory, job).digest
        status = read_status(directory / RUNS / job.name)
        entries.append(Entry(job, _standing(status, duties[task]), status))
    return Survey(sweep, tuple(entries))


def _standing(status: Status | None, duties: str) -> Standing:
    if status is None:
        return "waiting"
    if status.state == "running":
        return "running" if status.alive else "waiting"
    # A finished run with new work is waiting again.
    if status.state in ("done", "failed") and status.duties == duties:
        return "done" if status.state == "done" else "failed"
    return "waiting"


def _kind(job: Job) -> tuple[str, str]:
    return job.config.task, job.config.learner


def _typical_seconds(entries: tuple[Entry, ...]) -> Mapping[tuple[str, str] | None, float]:
    """The median time of finished runs by task and learner; under None, that of all.

    If none of a kind is finished, the time is estimated from the progress of running ones.
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
