"""A progress bar for episodes, with the success so far; silent where there is no terminal."""

from __future__ import annotations

from types import TracebackType


class EpisodeBar:
    """Shows episodes on standard error, as a context manager.

    Args:
        what: What is under way.
    """

    def __init__(self, what: str = "episodes") -> None:
        """Show nothing yet."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._what = what

    def __enter__(self) -> EpisodeBar:
        """Take over the last line of a terminal."""
        self._bar.start()
        self._task = self._bar.add_task(self._what, total=None, rate="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back."""
        self._bar.stop()

    def watch(self, done: int, total: int, successes: int) -> None:
        """Show how many episodes are done."""
        from goalsets.evaluate.stats import Rate

        rate = f"success {Rate(successes, done)}"
        self._bar.update(self._task, completed=done, total=total, rate=rate)

    def say(self, text: str) -> None:
        """Print a line of its own."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
