"""What a worker does with one run: train it, evaluate it, ask it the suites.

It uses the code of `goalsets train`, `goalsets eval` and `goalsets suite run`. Work whose result is
already in the run directory is not repeated. So an interrupted run is simply started again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import hashlib
import json
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from goalsets.core import GoalsetsError
from goalsets.data.drawing import DataIn
from goalsets.runs.run import CONFIG, Run
from goalsets.runs.weights import Progress
from goalsets.sweep.ask import Asking
from goalsets.sweep.devices import Device
from goalsets.sweep.grid import Evaluation, Job
from goalsets.sweep.prepare import open_data
from goalsets.sweep.state import LOG, Claim, ClaimLostError
from goalsets.train.loop import StoppedError
from goalsets.train.session import Pace, train

Outcome = Literal["done", "failed", "stopped", "lost"]
"""`lost`: another worker has the run, or its state is not known."""
Stop = Callable[[], bool]


@dataclass(frozen=True)
class Duties:
    """The work on a run besides training."""

    pace: Pace
    evaluation: Evaluation
    suites: tuple[Path, ...] = ()
    """The files of the suites."""
    planned: tuple[Path, ...] = ()
    """The suites that are also asked by chains of questions."""

    @property
    def digest(self) -> str:
        """A digest that changes when there is more work for a finished run."""
        evaluation = dataclasses.asdict(self.evaluation)
        if not self.evaluation.plan:  # older digests lack this field, and must stay valid
            del evaluation["plan"]
        plain: list[Any] = [evaluation, [path.name for path in self.suites]]
        if self.planned:  # older digests lack this field, too
            plain.append([path.name for path in self.planned])
        return hashlib.blake2b(json.dumps(plain).encode(), digest_size=6).hexdigest()


@dataclass(frozen=True)
class Assignment:
    """The task of a worker: one run, or several that differ only in their seed."""

    jobs: tuple[Job, ...]
    runs: Path
    """The directory of all runs, on the machine that drives the sweep."""
    data: Path
    """The path of the store on that machine."""
    fingerprint: str
    """The fingerprint of the store."""
    duties: Duties
    threads: int = 1
    device: Device = "cpu"
    """Where to train; episodes always run on processors."""
    data_in: DataIn = "auto"
    """Where the data is while a run is trained."""

    def __str__(self) -> str:
        """Its name."""
        first = self.jobs[0]
        return first.name if len(self.jobs) == 1 else f"{first.group} ({len(self.jobs)} seeds)"


@dataclass(frozen=True)
class Ended:
    """How work on a run ended."""

    job: Job
    outcome: Outcome
    reason: str = ""
    seconds: float = 0.0
    """Seconds spent now; earlier time is in the status file."""


class Place(Protocol):
    """Where a worker reads and writes its files."""

    def open_run(self, runs: Path, job: Job) -> Path:
        """The directory in which to work on a run, with its files so far."""
        ...

    def synchronise(self, job: Job) -> None:
        """Copy new files to the driver."""
        ...

    def close_run(self, job: Job) -> None:
        """Called when the work on a run is over."""
        ...

    def data(self, path: Path, fingerprint: str) -> Path:
        """The store on this machine."""
        ...

    def file(self, path: Path) -> Path:
        """Another file of the sweep on this machine."""
        ...


class SamePlace:
    """The machine that drives the sweep, or one that shares its files."""

    def open_run(self, runs: Path, job: Job) -> Path:
        """The run's own directory."""
        return runs / job.name

    def synchronise(self, job: Job) -> None:
        """Do nothing: the files are in their place."""

    def close_run(self, job: Job) -> None:
        """Do nothing: there is no copy to remove."""

    def data(self, path: Path, fingerprint: str) -> Path:
        """The store itself."""
        return path

    def file(self, path: Path) -> Path:
        """The file itself."""
        return path


Work = Callable[[Assignment, Stop, Place], list[Ended]]
"""The function that workers of an engine run; it must be importable in other processes."""


def work(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Do all the work of an assignment. Errors are returned, not raised."""
    import torch

    torch.set_num_threads(assignment.threads)
    settled: dict[str, Ended] = {}
    if len(assignment.jobs) > 1:
        from goalsets.sweep.seeds import train_seeds

        settled = train_seeds(assignment, stop, place)
    return [
        settled.get(job.name) or _work_on(job, assignment, stop, place) for job in assignment.jobs
    ]


def _work_on(job: Job, assignment: Assignment, stop: Stop, place: Place) -> Ended:
    start = time.monotonic()
    outcome, reason = attempt(
        job, assignment, place, lambda claim: _do(job, assignment, claim, stop, place)
    )
    return Ended(job, outcome, reason, time.monotonic() - start)


def attempt(
    job: Job, assignment: Assignment, place: Place, do: Callable[[Claim], None]
) -> tuple[Outcome, str]:
    """Claim a run, do something with it, and write into its status file how that ended."""
    try:
        directory = place.open_run(assignment.runs, job)
        claim = Claim(
            directory,
            assignment.duties.digest,
            job.config.steps,
            lambda: place.synchronise(job),
        )
        with claim, logged(directory / LOG):
            outcome, reason = _judge(claim, do)
            claim.end(outcome, reason)
    except ClaimLostError as error:
        return "lost", str(error)
    except OSError as error:  # on a full disk not even the status can be written
        return "failed", f"{type(error).__name__}: {error}"
    place.close_run(job)
    return outcome, reason


def _judge(
    claim: Claim, do: Callable[[Claim], None]
) -> tuple[Literal["done", "failed", "stopped"], str]:
    try:
        do(claim)
    except (ClaimLostError, KeyboardInterrupt):
        raise
    except StoppedError as error:
        return "stopped", str(error)
    except GoalsetsError as error:
        traceback.print_exc()
        return "failed", str(error)
    except Exception as error:  # no error may end other runs
        traceback.print_exc()
        return "failed", f"{type(error).__name__}: {error}"
    return "done", ""


def _do(job: Job, assignment: Assignment, claim: Claim, stop: Stop, place: Place) -> None:
    duties, directory = assignment.duties, claim.directory
    if not is_trained(directory, job):
        claim.beat("training")
        watch = SignsOfLife(claim, stop)
        store, data_in = open_data(assignment, place)
        train(
            job.config,
            store,
            directory,
            resume=True,
            pace=duties.pace,
            watch=watch,
            stop=watch.stop,
            device=assignment.device,
            data_in=data_in,
            say=print,
        )
    asking = Asking(assignment, claim, stop, place)
    asking.official()
    for path in assignment.duties.suites:
        asking.suite(path)


class SignsOfLife:
    """Updates the status file while a run is trained."""

    def __init__(self, claim: Claim, stop: Stop) -> None:
        """Keep the claim on the run, and the function that says whether to stop."""
        self._claim, self._stop = claim, stop
        self._step = 0

    def begin(self, run: Run, progress: Progress) -> None:
        """Begin where the run is."""
        self._step = progress.step

    def step(self, progress: Progress, metrics: dict[str, float]) -> None:
        """Do nothing: `stop` is called more often."""

    def kept(self, run: Run, progress: Progress) -> None:
        """Do nothing: weights are evaluated afterwards."""

    def stop(self) -> bool:
        """Called after every step: update the status, and say whether to stop."""
        self._step += 1
        self._claim.beat("training", self._step)
        return self._stop()


def is_trained(directory: Path, job: Job) -> bool:
    """Whether a run has taken all its steps: then the weights of the last step are kept."""
    return (directory / CONFIG).exists() and Run.open(directory).weights(job.config.steps).exists()


@contextlib.contextmanager
def logged(path: Path) -> Iterator[None]:
    """Write the output of a run, and its traceback if it fails, to its own log."""
    with path.open("a", encoding="utf-8") as log:
        log.write(time.strftime("--- %Y-%m-%d %H:%M:%S\n"))
        log.flush()
        with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
            faulthandler.enable(log)
            try:
                yield
            finally:
                faulthandler.disable()
