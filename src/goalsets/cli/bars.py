"""Progress bars on standard error: for episodes, and for the parts of a report."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from goalsets.evaluate.stats import Rate
from goalsets.screen import Screen


class EpisodeBar(Screen):
    """Shows the number of episodes and their success so far; silent without a terminal.

    Args:
        what: The label of the bar.
    """

    def __init__(self, what: str = "episodes") -> None:
        """Show nothing yet."""
        super().__init__(
            Console(stderr=True),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
        )
        self._task = self._bar.add_task(what, total=None, rate="")

    def watch(self, done: int, total: int, successes: int) -> None:
        """Show how many episodes are done."""
        rate = f"success {Rate(successes, done)}"
        self._bar.update(self._task, completed=done, total=total, rate=rate)


class ReportBar(Screen):
    """Shows the progress of a report; without a terminal, prints a line now and then."""

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
        """Show how much of one part of the report is done."""
        self._bar.update(self._task, description=what, completed=done, total=total)
        self.say_now_and_then(f"{what}: {done} of {total}")
