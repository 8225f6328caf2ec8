"""Logs of metrics: always a CSV file and TensorBoard, Weights & Biases on request.

When a run is resumed, its log drops the rows after the checkpoint, because these steps are trained
again.
"""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from goalsets.core import GoalsetsError, door
from goalsets.core.extras import require

METRICS = "metrics.csv"
TENSORBOARD = "tensorboard"
HELD_OUT = "held-out/"
"""The prefix of metrics that are measured on validation episodes."""

Row = Mapping[str, float]


class LogError(GoalsetsError):
    """Metrics cannot be written or read; the message names the file."""


class Log(Protocol):
    """A log of metrics."""

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Record the metrics of a step, after so many seconds of training."""
        ...

    def close(self) -> None:
        """Write what is still in memory."""
        ...


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn errors of the file system, such as a full disk, into errors that name the file."""
    try:
        yield
    except OSError as error:
        raise LogError(f"cannot write {path}: {error.strerror}.") from error


class CsvLog:
    """A row in `metrics.csv` for each record."""

    def __init__(self, directory: Path, after: int = 0) -> None:
        """Take the run directory, and the step that a resumed run continues from."""
        self._path = directory / METRICS
        self._columns: list[str] = []
        if self._path.exists():
            self._forget(after)

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Append a row; it is written at once."""
        row = {"step": step, "seconds": round(seconds, 3), **metrics}
        with _writing(self._path):
            if missing := [name for name in row if name not in self._columns]:
                self._widen(missing)
            with self._path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns).writerow(row)

    def close(self) -> None:
        """Do nothing, because rows are written at once."""

    def _forget(self, after: int) -> None:
        found = door.read_csv(self._path, kind=LogError)
        if not found:  # the process was killed before the first row
            return
        header, *rows = found
        if header[:2] != ["step", "seconds"] or len(set(header)) != len(header):
            raise LogError(
                f"{self._path} is not a log of metrics: expected the columns step, seconds, and "
                f"others once each, got {header[:4]}. Move the file away to begin a new log."
            )
        # The last row may be incomplete if the process was killed.
        kept = [row for row in rows if len(row) == len(header) and _step(row[0]) <= after]
        with _writing(self._path):
            self._write(header, kept)
        self._columns = header

    def _widen(self, missing: list[str]) -> None:
        """Begin the file, or add missing columns to the file of an older run."""
        rows: list[list[str]] = []
        if self._path.exists():
            rows = door.read_csv(self._path, kind=LogError)[1:]
        self._columns += missing
        self._write(self._columns, [row + [""] * len(missing) for row in rows])

    def _write(self, header: list[str], rows: list[list[str]]) -> None:
        """Replace the file in one step."""
        temporary = self._path.with_suffix(".tmp")
        with temporary.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        temporary.replace(self._path)


def _step(text: str) -> float:
    """The step of a row; infinite if the row is damaged, so that it is dropped."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else math.inf


class TensorBoardLog:
    """Event files in `tensorboard/`.

    TensorBoard's own writer has a thread, which prints a traceback when the disk is full. This one
    writes at once, so that the error comes where it can be told.
    """

    def __init__(self, directory: Path, after: int = 0) -> None:
        """Take the run directory, and the step that a resumed run continues from."""
        place = directory / TENSORBOARD
        # TensorBoard reads the files of a directory in the order of their names.
        self._path = place / f"events.out.tfevents.{time.time_ns():020d}.{os.getpid()}"
        with _writing(self._path):
            place.mkdir(parents=True, exist_ok=True)
        self._write(file_version="brain.Event:2")
        if after:  # TensorBoard forgets the points after it, because they are drawn again
            self._write(step=after + 1, session_log={"status": "START"})

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Add a point to each curve."""
        points = {**metrics, "time/seconds": seconds}
        values = [{"tag": tag, "simple_value": value} for tag, value in points.items()]
        self._write(step=step, summary={"value": values})

    def _write(self, **fields: Any) -> None:  # noqa: ANN401 - a message of TensorBoard
        from tensorboard.compat.proto import event_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        event = event_pb2.Event(  # pyright: ignore[reportAttributeAccessIssue] - made at run time
            wall_time=time.time(), **fields
        )
        with _writing(self._path), self._path.open("ab", buffering=0) as file:
            RecordWriter(file).write(event.SerializeToString())

    def close(self) -> None:
        """Do nothing, because points are written at once."""


class WandbLog:
    """A run at Weights & Biases; a resumed run has the same id."""

    def __init__(self, directory: Path, project: str, config: Mapping[str, Any]) -> None:
        """Take the run directory, whose name becomes the run's, and its configuration."""
        wandb = import_wandb()
        name = "-".join(directory.resolve().parts[-2:])
        self._run = wandb.init(
            project=project, id=name, name=name, dir=directory, config=dict(config), resume="allow"
        )

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Send the metrics."""
        self._run.log({**metrics, "time/seconds": seconds}, step=step)

    def close(self) -> None:
        """Finish the run at Weights & Biases."""
        self._run.finish()


def import_wandb() -> Any:  # noqa: ANN401 - an optional module
    """Import the library, or raise an error that says how to install it."""
    return require("wandb", "logging to Weights & Biases")
