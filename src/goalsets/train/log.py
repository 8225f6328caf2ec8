"""Where metrics go: a CSV file and TensorBoard always, Weights & Biases on request.

A log that is resumed forgets what was recorded after the checkpoint, because those steps come
again.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from goalsets.core import GoalsetsError, door
from goalsets.core.extras import require

METRICS = "metrics.csv"
TENSORBOARD = "tensorboard"
HELD_OUT = "held-out/"
"""How the names of metrics begin that are measured on episodes which are not trained on."""

Row = Mapping[str, float]


class LogError(GoalsetsError):
    """Metrics that cannot be written; the message names the file."""


class Log(Protocol):
    """Somewhere to record metrics."""

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Record the metrics of a step, after so many seconds of training."""
        ...

    def close(self) -> None:
        """Write what is not written yet."""
        ...


class CsvLog:
    """One row a record, in `metrics.csv`."""

    def __init__(self, directory: Path, after: int = 0) -> None:
        """Take the run directory, and the step that a resumed run continues from."""
        self._path = directory / METRICS
        self._columns: list[str] = []
        if self._path.exists():
            self._forget(after)

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Append a row; each is on disk before the next comes."""
        row = {"step": step, "seconds": round(seconds, 3), **metrics}
        try:
            if missing := [name for name in row if name not in self._columns]:
                self._widen(missing)
            with self._path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns).writerow(row)
        except OSError as error:
            raise LogError(f"cannot write {self._path}: {error.strerror}.") from error

    def close(self) -> None:
        """Nothing is held back."""

    def _forget(self, after: int) -> None:
        found = door.read_csv(self._path, kind=LogError)
        if not found:  # a kill came before the first row
            return
        header, *rows = found
        if header[:2] != ["step", "seconds"] or len(set(header)) != len(header):
            raise LogError(
                f"{self._path} is no record of metrics: expected columns step, seconds, and others "
                f"once each, got {header[:4]}. Move it away to begin anew."
            )
        # A kill may have cut the last row short.
        kept = [row for row in rows if len(row) == len(header) and _step(row[0]) <= after]
        try:
            self._write(header, kept)
        except OSError as error:
            raise LogError(f"cannot write {self._path}: {error.strerror}.") from error
        self._columns = header

    def _widen(self, missing: list[str]) -> None:
        """Begin the file, or give an older run's the columns that it lacks."""
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
    """The step of a row; a row that does not say it is as good as cut short."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else math.inf


class TensorBoardLog:
    """Event files in `tensorboard/`."""

    def __init__(self, directory: Path, after: int = 0) -> None:
        """Take the run directory, and the step that a resumed run continues from."""
        from torch.utils.tensorboard.writer import SummaryWriter

        self._writer = SummaryWriter(
            str(directory / TENSORBOARD), purge_step=after + 1 if after else None
        )

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Add a point to each curve."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.add_scalar("time/seconds", seconds, step)

    def close(self) -> None:
        """Write what waits in memory."""
        self._writer.close()


class WandbLog:
    """A run at Weights & Biases, which continues under the same id."""

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
        """Tell it that the run is over."""
        self._run.finish()


def import_wandb() -> Any:  # noqa: ANN401 - a module that may not be there
    """Import the library, or say how to get it."""
    return require("wandb", "logging to Weights & Biases")
