"""The state of a run in a sweep: a small status file, and the claim to work on the run.

`status.json` holds the progress of a run, and is replaced in one step. A worker holds the lock of
its run, which the system releases when the process dies, and writes its signature into the status
file. If a worker finds another signature there, it stops: its node was considered dead, and the run
was given to another worker.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from goalsets.core import GoalsetsError, door
from goalsets.runs.run import lock_run
from goalsets.workers import silence

STATUS, LOG = "status.json", "run.log"
State = Literal["running", "stopped", "done", "failed"]
BEAT = 2.0
"""Seconds between updates of the status."""
SILENCE = 120.0
"""Seconds without an update after which a run no longer counts as running."""


class ClaimLostError(GoalsetsError):
    """Another worker has the run."""


@dataclass(frozen=True)
class Status:
    """The content of `status.json`; a run without one is waiting."""

    state: State
    doing: str = ""
    """The current work: training, evaluating, a suite."""
    step: int = 0
    steps: int = 0
    seconds: float = 0.0
    """Time spent on the run by all workers."""
    reason: str = ""
    """Why it failed."""
    duties: str = ""
    """A digest of the work besides training."""
    owner: str = ""
    host: str = ""
    pid: int = 0
    attempts: int = 1
    """How often a worker began to work on it."""
    updated: float = 0.0

    @property
    def alive(self) -> bool:
        """Whether a worker is working on it, as far as the file shows."""
        return self.state == "running" and time.time() - self.updated < SILENCE


def read_status(directory: Path) -> Status | None:
    """The status of a run; None if there is none."""
    try:
        return door.fit(door.read_json(directory / STATUS), Status, STATUS)
    except GoalsetsError:
        return None


def write_status(directory: Path, status: Status) -> None:
    """Replace the status of a run in one step."""
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / f".{STATUS}.{uuid.uuid4().hex[:8]}"
    temporary.write_text(json.dumps(dataclasses.asdict(status)), encoding="utf-8")
    temporary.replace(directory / STATUS)


class Claim:
    """The claim to work on a run, as a context manager.

    Args:
        directory: The run directory.
        duties: A digest of the work besides training.
        steps: The steps of its training.
        synchronise: Called after every update of the status.
    """

    def __init__(
        self,
        directory: Path,
        duties: str,
        steps: int,
        synchronise: Callable[[], None] = silence,
    ) -> None:
        """Claim nothing yet."""
        self.directory = directory
        self._synchronise = synchronise
        self._lock = lock_run(directory)
        self._beaten = 0.0
        self._status = Status(
            "running",
            steps=steps,
            duties=duties,
            owner=uuid.uuid4().hex,
            host=platform.node(),
            pid=os.getpid(),
        )

    def __enter__(self) -> Claim:
        """Sign the status, and wait until the previous worker has released the run."""
        self.directory.mkdir(parents=True, exist_ok=True)
        before = read_status(self.directory)
        if before is not None:
            self._status = dataclasses.replace(
                self._status,
                step=before.step,
                seconds=before.seconds,
                attempts=before.attempts + 1,
            )
        self._spent, self._began = self._status.seconds, time.monotonic()
        for _ in _tries(SILENCE):
            # Repeat until the lock is ours: the other's next update may overwrite our signature.
            self._write()
            if self._lock.take():
                break
        else:
            raise ClaimLostError(f"{self.directory} is in use by another worker.")
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        """Release the run."""
        self._lock.release()

    def beat(self, doing: str, step: int | None = None) -> None:
        """Update the status now and then; raise an error if another worker has the run."""
        changed = doing.split(maxsplit=1)[0] not in self._status.doing
        self._status = dataclasses.replace(
            self._status, doing=doing, step=self._status.step if step is None else step
        )
        if changed or time.monotonic() - self._beaten >= BEAT:
            self._check()
            self._write()
            self._synchronise()

    def end(self, state: State, reason: str = "") -> None:
        """Write how it ended."""
        self._check()
        self._status = dataclasses.replace(self._status, state=state, reason=reason, doing="")
        self._write()
        self._synchronise()

    @property
    def owner(self) -> str:
        """Our signature."""
        return self._status.owner

    def _check(self) -> None:
        found = read_status(self.directory)
        if found is not None and found.owner != self.owner:
            raise ClaimLostError(
                f"{self.directory} is now worked on by process {found.pid} on {found.host}."
            )

    def _write(self) -> None:
        self._beaten = time.monotonic()
        seconds = self._spent + self._beaten - self._began
        self._status = dataclasses.replace(
            self._status, updated=time.time(), seconds=round(seconds, 2)
        )
        write_status(self.directory, self._status)


def _tries(seconds: float) -> Iterator[None]:
    """Yield again and again, for some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.2)
