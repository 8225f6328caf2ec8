"""The progress of a sweep on a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from goalsets.screen import Screen, clock
from goalsets.sweep import Sweep, survey
from goalsets.sweep.drive import read_driver
from goalsets.sweep.work import Ended

_LOOK = 5.0
"""Seconds between estimates of the remaining time, which read many files."""


class SweepScreen(Screen):
    """Shows how many runs have ended, and prints how each one ended."""

    def __init__(self, sweep: Sweep, directory: Path, only: Sequence[str] = ()) -> None:
        """Show nothing yet."""
        super().__init__(
            Console(stderr=True),
            TextColumn(sweep.name),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[text]}"),
        )
        self._sweep, self._directory, self._only = sweep, directory, only
        self._looked = 0.0

    def begin(self, total: int, finished: int, failed: int) -> None:
        """Show how many runs are done already."""
        self._total, self._ended = total, finished
        self._task = self._bar.add_task("", completed=finished, total=total, text="")
        if finished or failed:
            also = f", {failed} failed before and are skipped" if failed else ""
            self.say(f"{finished} of {total} runs are done already{also}.")

    def ended(self, ended: Ended) -> None:
        """Print how a run ended."""
        self._ended += ended.outcome == "done"
        text = f"{ended.outcome:7} {ended.job.name}, {clock(ended.seconds)}"
        lines = [line for line in ended.reason.splitlines() if line.strip()]
        if ended.outcome != "done" and lines:
            text += f": {lines[-1] if lines[0].startswith('Traceback') else lines[0]}"
        left = self._left()
        self._bar.update(self._task, completed=self._ended, text=left)
        self.say(f"[{self._ended}/{self._total}] {text}{', ' + left if left else ''}")

    def _left(self) -> str:
        if time.monotonic() - self._looked < _LOOK:
            return ""
        self._looked = time.monotonic()
        found = survey(self._directory, self._sweep, self._only)
        seconds = found.seconds_left(read_driver(self._directory).slots)
        return "" if not seconds else f"about {clock(seconds)} left"
