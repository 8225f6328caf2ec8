"""Progress of a training: one live line on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, TextColumn

from goalsets.evaluate.alongside import Alongside, Failure
from goalsets.evaluate.official import official_records
from goalsets.evaluate.stats import Rate
from goalsets.runs.run import Run
from goalsets.runs.weights import Progress as Reached
from goalsets.screen import LINE_INTERVAL, Screen, clock
from goalsets.train.log import HELD_OUT

_SHOWN = (
    "loss",
    "value/mean",
    "critic/mean",
    "critic/accuracy",
    "actor/mse",
    f"{HELD_OUT}actor/mse",
)
"""Metrics that are shown if the learner has them."""


When = Literal["alongside", "afterwards", "never"]


class TrainingScreen(Screen):
    """Shows a training and its evaluations.

    Args:
        console: Where to show it.
        when: When kept weights are evaluated.
        make_evaluations: Called with the run when training begins.
        interval: Seconds between lines if there is no terminal.
    """

    def __init__(
        self,
        console: Console,
        when: When,
        make_evaluations: Callable[[Run], Alongside],
        interval: float = LINE_INTERVAL,
    ) -> None:
        """Show nothing yet."""
        super().__init__(
            console,
            TextColumn("training"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            interval=interval,
        )
        self._when, self._make_evaluations = when, make_evaluations
        self._later: list[int] = []
        self._evaluations: Alongside | None = None
        self._reported = self._told_failures = 0

    def begin(self, run: Run, progress: Reached) -> None:
        """Show the step at which training begins."""
        self._run, self._first = run, progress
        self._evaluations = self._make_evaluations(run)
        self._reported = len(official_records(run))
        self._started = time.monotonic()
        total = run.config.steps
        self._task = self._bar.add_task("", completed=progress.step, total=total, text="")
        bounds = run.frame.bounds
        self.say(f"actions within {bounds}, {bounds.origin_in_words}.")
        if progress.step:
            self.say(f"continuing at step {progress.step:,} of {total:,}.")

    def step(self, progress: Reached, metrics: dict[str, float]) -> None:
        """Show the pace and a few metrics."""
        text = self._text(progress, metrics)
        self._bar.update(self._task, completed=progress.step, text=text)
        self.say_now_and_then(text)
        if self._evaluations is not None:
            self._evaluations.poll()
        self._report()

    def kept(self, run: Run, progress: Reached) -> None:
        """Send kept weights to their evaluation."""
        if self._evaluations is not None and self._when == "alongside":
            self._evaluations.add(progress.step)
        elif self._when == "afterwards":
            self._later.append(progress.step)

    def finish(self) -> None:
        """Wait for the remaining evaluations, and show them."""
        if self._evaluations is None:
            return
        for step in self._later:
            self._evaluations.add(step)
        self._bar.update(self._task, text="waiting for evaluations")
        while not self._evaluations.wait(seconds=2.0):
            self._report()
        self._report()

    @property
    def failures(self) -> list[Failure]:
        """The evaluations that failed."""
        return [] if self._evaluations is None else self._evaluations.failures

    def abandon(self) -> None:
        """Stop evaluations; kept weights can be evaluated later."""
        if self._evaluations is not None:
            self._evaluations.stop()

    def _report(self) -> None:
        """Print evaluations that are new."""
        records = official_records(self._run)
        for record in records[self._reported :]:
            self.say(describe(record))
        self._reported = len(records)
        for failure in self.failures[self._told_failures :]:
            self.say(f"the evaluation of step {failure.step:,} failed: {failure.reason}")
            self._told_failures += 1

    def _text(self, progress: Reached, metrics: dict[str, float]) -> str:
        total = self._run.config.steps
        done = progress.step - self._first.step
        pace = done / max(time.monotonic() - self._started, 1e-9)
        left = (total - progress.step) / pace
        shown = "  ".join(f"{name} {metrics[name]:.3g}" for name in _SHOWN if name in metrics)
        return f"{progress.step:,}/{total:,}  {pace:.1f} steps/s  {clock(left)} left  {shown}"


def describe(record: dict[str, object]) -> str:
    """One line for an official evaluation."""
    count = int(str(record["num_episodes"]))
    rate = Rate(round(float(str(record["success"])) * count), count)
    seconds = float(str(record["training_seconds"]))
    return (
        f"evaluated step {record['step']:,} ({seconds:.0f} s of training): "
        f"success {rate}, {count} episodes"
    )
