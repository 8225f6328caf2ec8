"""What people see of long work: a live line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, ProgressColumn

if TYPE_CHECKING:
    from typing_extensions import Self

LINE_INTERVAL = 30.0
"""Seconds between lines where there is no terminal."""


class Screen:
    """A bar that takes over the last line of a terminal, as a context manager.

    Args:
        console: Where to show it.
        columns: What the line consists of.
        interval: Seconds between lines where there is no terminal.
    """

    def __init__(
        self, console: Console, *columns: ProgressColumn, interval: float = LINE_INTERVAL
    ) -> None:
        """Show nothing yet."""
        self._console = console
        self._interval = interval
        self._spoken = time.monotonic()
        # A few times a second is plenty; every redraw takes time from the work.
        self._bar = Progress(
            *columns,
            console=console,
            refresh_per_second=2,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
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

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def say_now_and_then(self, text: str) -> None:
        """Print a line where there is no terminal to show a live one, if the last is long ago."""
        now = time.monotonic()
        if not self._console.is_terminal and now - self._spoken >= self._interval:
            self._spoken = now
            self.say(text)


def clock(seconds: float) -> str:
    """Such as `0:02:05`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
