"""A progress bar for the parts of a report; a line now and then where there is no terminal."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from goalsets.screen import Screen


class ReportBar(Screen):
    """Shows on standard error what a report is at."""

    def __init__(self) -> None:
        """Show nothing yet."""
        super().__init__(
            Console(stderr=True),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
        )
        self._task = self._bar.add_task("reading runs", total=None)

    def watch(self, what: str, done: int, total: int) -> None:
        """Show how much of a part is done."""
        self._bar.update(self._task, description=what, completed=done, total=total)
        self.say_now_and_then(f"{what}: {done} of {total}")
