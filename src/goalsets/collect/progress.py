"""The progress display of a collection."""

from __future__ import annotations

import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from goalsets.screen import LINE_INTERVAL, Screen, clock


class CollectingWatch(Protocol):
    """Receives the progress of a collection."""

    def begin(self, finished: int, total: int) -> None:
        """Receive the number of episodes that exist, and of all."""
        ...

    def episode(self, steps: int) -> None:
        """Receive the number of steps of a finished episode."""
        ...

    def say(self, text: str) -> None:
        """Receive a message about something unusual."""
        ...


class Silence:
    """Ignores the progress."""

    def begin(self, finished: int, total: int) -> None:
        """Say nothing."""

    def episode(self, steps: int) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


class CollectScreen(Screen):
    """Shows a collection."""

    def __init__(self, console: Console, interval: float = LINE_INTERVAL) -> None:
        """Show nothing yet."""
        super().__init__(
            console,
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("episodes  {task.fields[rate]}"),
            interval=interval,
        )
        self._steps = self._count = 0

    def begin(self, finished: int, total: int) -> None:
        """Show how many episodes exist already."""
        self._started = time.monotonic()
        self._finished, self._total = finished, total
        self._task = self._bar.add_task(
            "collecting", completed=finished, total=total, rate="starting workers"
        )
        if finished:
            self.say(f"continuing: {finished} of {total} episodes are already collected.")

    def episode(self, steps: int) -> None:
        """Count an episode and show the speed."""
        self._count += 1
        self._steps += steps
        self._bar.update(self._task, advance=1, rate=self._pace())
        done = self._finished + self._count
        self.say_now_and_then(f"{done} of {self._total} episodes, {self._pace()}")

    def _pace(self) -> str:
        elapsed = max(time.monotonic() - self._started, 1e-9)
        left = self._total - self._finished - self._count
        seconds = left * elapsed / max(self._count, 1)
        return f"{self._steps / elapsed:,.0f} steps/s, {clock(seconds)} left"
