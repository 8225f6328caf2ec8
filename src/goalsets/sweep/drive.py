"""The driver: give the remaining runs of a sweep to an engine, and count how they end.

It keeps no state of its own. If it is killed and started again, it reads the files and continues.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from goalsets.core import GoalsetsError, door
from goalsets.core.door.fit import Size
from goalsets.data.drawing import DataIn
from goalsets.lock import Lock
from goalsets.sweep.engine import Engine
from goalsets.sweep.files import read_sweep, write_sweep
from goalsets.sweep.grid import Job, Sweep, SweepError
from goalsets.sweep.prepare import Prepared, prepare_data, prepare_suites
from goalsets.sweep.survey import RUNS, SWEEP, duties_of, survey
from goalsets.sweep.work import Assignment, Ended, Outcome
from goalsets.train.together import check_stackable

DRIVER = "driver.json"


class SweepWatch(Protocol):
    """Follows the progress of a sweep."""

    def begin(self, total: int, finished: int, failed: int) -> None:
        """Called first: the number of runs, and of those that need no work."""
        ...

    def ended(self, ended: Ended) -> None:
        """Called when the work on a run has ended."""
        ...

    def say(self, text: str) -> None:
        """Called with a note on something unusual."""
        ...


class Quiet:
    """Follows nothing."""

    def begin(self, total: int, finished: int, failed: int) -> None:
        """Say nothing."""

    def ended(self, ended: Ended) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Summary:
    """The result of a driver."""

    total: int
    """The number of runs in the sweep."""
    before: int
    """Runs that were done when it began."""
    failed_before: int
    """Runs that had failed when it began, and were not tried again."""
    outcomes: Counter[Outcome]
    """How the others ended, as far as they were begun."""

    @property
    def done(self) -> int:
        """Runs that are done now."""
        return self.before + self.outcomes["done"]

    @property
    def failed(self) -> int:
        """Runs that are marked as failed now."""
        return self.failed_before + self.outcomes["failed"]

    @property
    def left(self) -> int:
        """Runs that were stopped, or not begun: the same sweep continues them."""
        return self.total - self.done - self.failed

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.done == self.total


def run_sweep(
    sweep: Sweep,
    directory: Path,
    engine: Engine,
    *,
    only: Sequence[str] = (),
    retry_failed: bool = False,
    seeds_together: bool = False,
    data_in: DataIn = "auto",
    watch: SweepWatch | None = None,
) -> Summary:
    """Run the remaining runs of a sweep.

    Args:
        sweep: The sweep.
        directory: The sweep's directory; the same directory continues it.
        engine: Does the work.
        only: Patterns such as `*gciql*`: only runs whose name matches one of them.
        retry_failed: Also run those again that failed.
        seeds_together: Train runs that differ only in their seed in one process.
        data_in: Where the data of a run is; by default each worker decides by the free memory.
        watch: Follows the progress.
    """
    watch = watch or Quiet()
    directory = directory.resolve()
    with _driving(directory, sweep, engine):
        write_sweep(sweep, directory / SWEEP)
        asked = survey(directory, sweep, only).entries
        if not asked:
            raise SweepError(
                f"no run of {sweep.name!r} matches {' or '.join(only)}: --dry-run lists its runs."
            )
        left = [
            entry.job
            for entry in asked
            if entry.standing != "done" and (entry.standing != "failed" or retry_failed)
        ]
        before = sum(entry.standing == "done" for entry in asked)
        failed = len(asked) - before - len(left)
        watch.begin(len(asked), before, failed)
        outcomes: Counter[Outcome] = Counter()
        assignments = [
            dataclasses.replace(assignment, data_in=data_in)
            for assignment in _assign(
                left, sweep, directory, engine, watch.say, together=seeds_together
            )
        ]
        with _stopped_by_signals(engine):
            for ended in engine.run(assignments):
                outcomes[ended.outcome] += 1
                watch.ended(ended)
        return Summary(len(asked), before, failed, outcomes)


def _assign(
    jobs: Sequence[Job],
    sweep: Sweep,
    directory: Path,
    engine: Engine,
    say: Callable[[str], None],
    *,
    together: bool,
) -> Iterator[Assignment]:
    """Make assignments; before the first of a task, prepare its data and suites."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.group if together else job.name, []).append(job)
    if together:
        for group in groups.values():
            check_stackable([job.config for job in group])
    prepared: dict[str, Prepared] = {}
    for group in groups.values():
        task = group[0].config.task
        if task not in prepared:
            prepared[task] = prepare_data(task, sweep.data, say)
            prepare_suites(sweep, directory, task, prepared[task].data, say)
        yield Assignment(
            jobs=tuple(group),
            runs=directory / RUNS,
            data=prepared[task].data,
            fingerprint=prepared[task].fingerprint,
            duties=duties_of(sweep, directory, group[0]),
            threads=engine.threads,
            device=engine.device,
        )


@contextlib.contextmanager
def _driving(directory: Path, sweep: Sweep, engine: Engine) -> Iterator[None]:
    """Be the only driver of a directory, and write down how many runs go at a time."""
    directory.mkdir(parents=True, exist_ok=True)
    if (directory / SWEEP).exists():
        known = read_sweep(directory / SWEEP).name
        if known != sweep.name:
            raise SweepError(
                f"{directory} holds the sweep {known!r}, not {sweep.name!r}: choose another "
                "--output."
            )
    advice = f"'goalsets sweep status {directory}' shows its progress."
    with Lock(directory / "driver.lock", f"run the sweep {directory}", advice):
        (directory / DRIVER).write_text(
            json.dumps(dataclasses.asdict(Driver(engine.slots))), encoding="utf-8"
        )
        yield


@dataclass(frozen=True)
class Driver:
    """What a driver writes about itself."""

    slots: Size = 1
    """How many runs go at a time."""


def read_driver(directory: Path) -> Driver:
    """What the last driver of a directory has written about itself."""
    try:
        return door.fit(door.read_json(directory / DRIVER), Driver, DRIVER)
    except GoalsetsError:
        return Driver()


@contextlib.contextmanager
def _stopped_by_signals(engine: Engine) -> Iterator[None]:
    """At the first Ctrl-C or SIGTERM, save checkpoints and stop; at the second, stop at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told = False

    def stop(*_: object) -> None:
        nonlocal told
        if told:
            raise KeyboardInterrupt
        told = True
        engine.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
