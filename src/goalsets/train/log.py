"""Where metrics go: a CSV file and TensorBoard always, Weights & Biases on request.

A log that is resumed forgets what was recorded after the checkpoint, because those steps come
again.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from goalsets.core import GoalsetsError

METRICS = "metrics.csv"
TENSORBOARD = "tensorboard"

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
        if self._path.exists():
            self._forget(after)

    def record(self, step: int, seconds: float, metrics: Row) -> None:
        """Append a row; each is on disk before the next comes."""
        row = {"step": step, "seconds": round(seconds, 3), **metrics}
        fresh = not self._path.exists()
        try:
            with self._path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, row)
                if fresh:
                    writer.writeheader()
                writer.writerow(row)
        except OSError as error:
            raise LogError(f"cannot write {self._path}: {error.strerror}.") from error

    def close(self) -> None:
        """Nothing is held back."""

    def _forget(self, after: int) -> None:
        with self._path.open(newline="", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file))
        # A kill may have cut the last row short.
        kept = [row for row in rows if len(row) == len(header) and int(row[0]) <= after]
        temporary = self._path.with_suffix(".tmp")
        try:
            with temporary.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([header, *kept])
            temporary.replace(self._path)
        except OSError as error:
            raise LogError(f"cannot write {self._path}: {error.strerror}.") from error


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
    try:
        import wandb  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise LogError(
            "logging to Weights & Biases needs its library: pip install 'goalsets[wandb]'."
        ) from None
    return wandb
