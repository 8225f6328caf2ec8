"""What people see while episodes come in: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

LINE_INTERVAL = 30.0
"""Seconds between lines where there is no terminal."""


class Watch(Protocol):
    """Somebody who wants to know how a collection gets on."""

    def begin(self, finished: int, total: int) -> None:
        """Hear how many episodes there are, and how many there will be."""
        ...

    def episode(self, steps: int) -> None:
        """Hear that an episode of so many steps is finished."""
        ...

    def say(self, text: str) -> None:
        """Hear of something out of the ordinary."""
        ...


class Silence:
    """Nobody wants to know."""

    def begin(self, finished: int, total: int) -> None:
        """Say nothing."""

    def episode(self, steps: int) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


class Screen:
    """Shows progress on a console, as a context manager."""

    def __init__(self, console: Console, interval: float = LINE_INTERVAL) -> None:
        """Show nothing yet."""
        self._console = console
        self._interval = interval
        self._steps = self._count = 0
        # A few times a second is plenty; every redraw takes time from the workers.
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("episodes  {task.fields[rate]}"),
            console=console,
            refresh_per_second=2,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Screen:
        """Take over the last line of a terminal."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back."""
        self._bar.stop()

    def begin(self, finished: int, total: int) -> None:
        """Show where we begin."""
        self._started = self._spoken = time.monotonic()
        self._finished, self._total = finished, total
        self._task = self._bar.add_task(
            "collecting", completed=finished, total=total, rate="starting workers"
        )
        if finished:
            self.say(f"continuing: {finished} of {total} episodes are there.")

    def episode(self, steps: int) -> None:
        """Count an episode and show the pace."""
        self._count += 1
        self._steps += steps
        self._bar.update(self._task, advance=1, rate=self._pace())
        now = time.monotonic()
        if not self._console.is_terminal and now - self._spoken >= self._interval:
            self._spoken = now
            self.say(f"{self._finished + self._count} of {self._total} episodes, {self._pace()}")

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _pace(self) -> str:
        elapsed = max(time.monotonic() - self._started, 1e-9)
        left = self._total - self._finished - self._count
        seconds = left * elapsed / max(self._count, 1)
        return f"{self._steps / elapsed:,.0f} steps/s, {_duration(seconds)} left"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"
