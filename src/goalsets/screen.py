"""Shows the progress of long work: a live line on a terminal, otherwise a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, ProgressColumn

if TYPE_CHECKING:
    from typing_extensions import Self

LINE_INTERVAL = 30.0
"""Seconds between lines without a terminal."""


class Screen:
    """A progress bar on the last line of a terminal, as a context manager.

    Args:
        console: The console to write to.
        columns: The columns of the bar.
        interval: Seconds between lines without a terminal.
    """

    def __init__(
        self, console: Console, *columns: ProgressColumn, interval: float = LINE_INTERVAL
    ) -> None:
        """Prepare the bar; it is not shown yet."""
        self._console = console
        self._interval = interval
        self._spoken = time.monotonic()
        # Redrawing takes time, so twice a second is enough.
        self._bar = Progress(
            *columns,
            console=console,
            refresh_per_second=2,
            transient=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        self._bar.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def say_now_and_then(self, text: str) -> None:
        """Without a terminal, print a line if the last one is older than the interval."""
        now = time.monotonic()
        if not self._console.is_terminal and now - self._spoken >= self._interval:
            self._spoken = now
            self.say(text)


def clock(seconds: float) -> str:
    """A duration such as `0:02:05`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
