"""The interface of engines: they take assignments, and yield runs as they end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Protocol

from goalsets.sweep.devices import Device
from goalsets.sweep.state import Status, read_status, write_status
from goalsets.sweep.work import Assignment, Ended

RETRIES = 2
"""How often a run is resumed after its worker died, before it counts as failed."""


class Engine(Protocol):
    """Something that works on assignments.

    If a worker dies, the engine resumes its run, a few times. It does not retry a run that failed
    with an error.
    """

    @property
    def threads(self) -> int:
        """Threads of each run."""
        ...

    @property
    def device(self) -> Device:
        """Where each run trains."""
        ...

    @property
    def slots(self) -> int:
        """How many assignments run at a time."""
        ...

    def run(self, assignments: Sequence[Assignment]) -> Iterator[Ended]:
        """Work on assignments, and yield runs as they end."""
        ...

    def stop(self) -> None:
        """Let runs write a checkpoint and end, and start no others; a signal may call it."""
        ...


def give_up(assignment: Assignment, how: str) -> list[Ended]:
    """Mark the runs of an assignment as failed because their workers died too often."""
    return mark_failed(assignment, f"its worker died {RETRIES + 1} times; the last time {how}.")


def mark_failed(assignment: Assignment, reason: str) -> list[Ended]:
    """Mark the runs of an assignment as failed if their workers could not do so."""
    ended: list[Ended] = []
    for job in assignment.jobs:
        directory = assignment.runs / job.name
        before = read_status(directory) or Status("running", steps=job.config.steps)
        if before.state == "running":
            duties = assignment.duties.digest
            failed = dataclasses.replace(before, state="failed", reason=reason, duties=duties)
            write_status(directory, failed)
        ended.append(Ended(job, "failed", reason))
    return ended
