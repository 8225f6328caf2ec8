"""Evaluate a trained run in a sweep: official goals and suites, at once and by chains."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from goalsets.runs.run import Run
from goalsets.sweep.state import Claim
from goalsets.train.loop import StoppedError

if TYPE_CHECKING:
    from goalsets.sweep.work import Assignment, Place, Stop


class Asking:
    """Asks one run, and skips what is recorded.

    Args:
        assignment: The assignment.
        claim: The claim on the run; it is updated with the progress.
        stop: Called after every episode; true stops the work.
        place: Where files are.
    """

    def __init__(self, assignment: Assignment, claim: Claim, stop: Stop, place: Place) -> None:
        """Open the run."""
        self._assignment, self._claim, self._stop, self._place = assignment, claim, stop, place
        self._run = Run.open(claim.directory)

    def official(self) -> None:
        """Run the official evaluations that are missing."""
        from goalsets.evaluate.official import evaluate_official, last_steps, recorded

        wanted = self._assignment.duties.evaluation
        if not wanted.episodes:
            return
        steps = last_steps(self._run, wanted.last)
        for plan, step in itertools.product((False, True) if wanted.plan else (False,), steps):
            if recorded(self._run, step, wanted.episodes, plan) is None:
                evaluate_official(
                    self._run,
                    step,
                    episodes=wanted.episodes,
                    plan=plan,
                    workers=self._assignment.threads,
                    watch=self._begin("evaluating", plan=plan),
                    say=print,
                )

    def suite(self, path: Path) -> None:
        """Run the episodes of a suite that are missing."""
        from goalsets.evaluate.suites import Suite, run_suite

        suite = Suite.load(self._place.file(path))
        for plan in (False, True) if path in self._assignment.duties.planned else (False,):
            watch = self._begin("suite", plan=plan)
            workers = self._assignment.threads
            run_suite(self._run, suite, plan=plan, workers=workers, watch=watch, say=print)

    def _begin(self, what: str, *, plan: bool) -> Callable[[int, int, int], None]:
        """Note what begins, and learn the planner if needed; return a progress callback."""
        what = f"{what} with chains" if plan else what
        self._claim.beat(what)
        if plan:
            self._run.planner(
                self._place.data(self._assignment.data, self._assignment.fingerprint), say=print
            )

        def watch(done: int, total: int, _: int) -> None:
            self._claim.beat(f"{what} {done}/{total}")
            if self._stop():
                raise StoppedError(f"stopped while {what}.")

        return watch
