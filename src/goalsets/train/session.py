"""A training session: makes a run directory from a configuration and a store, or continues one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch

from goalsets.core import GoalsetsError
from goalsets.data.drawing import DataIn, DataSource, choose_place, make_source
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.data.window import WINDOW_BYTES
from goalsets.runs.build import make_learner
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame
from goalsets.runs.run import CONFIG, Run, RunError, lock_run
from goalsets.runs.weights import CHECKPOINT, Progress
from goalsets.train.build import (
    SplitArrivals,
    draw_bank,
    draw_held_out,
    make_arrivals,
    make_sampler,
)
from goalsets.train.frame import make_frame
from goalsets.train.log import CsvLog, Log, TensorBoardLog
from goalsets.train.loop import Trainer
from goalsets.train.precision import check_precision
from goalsets.workers import silence

MOST_KEPT = 10_000
"""Files of weights that a run may keep."""


class TrainingWatch(Protocol):
    """Receives the progress of training."""

    def begin(self, run: Run, progress: Progress) -> None:
        """Receive the step at which training begins."""
        ...

    def step(self, progress: Progress, metrics: dict[str, float]) -> None:
        """Receive recorded metrics."""
        ...

    def kept(self, run: Run, progress: Progress) -> None:
        """Receive a step whose weights were kept; they can now be evaluated."""
        ...


@dataclass(frozen=True)
class Pace:
    """How often a session records metrics, writes checkpoints and keeps weights."""

    log_every: int = 100
    """Steps between rows of metrics."""
    checkpoint_every: int = 1_000
    """Steps between checkpoints."""
    keep_every: int | None = None
    """Steps between weights that are kept; the last step's weights are always kept."""

    def marks(self, steps: int) -> list[int]:
        """The steps whose weights are kept.

        Raises:
            GoalsetsError: There would be too many of them.
        """
        every = self.keep_every or steps
        if steps // every > MOST_KEPT:
            raise GoalsetsError(
                f"keeping weights every {every:,} of {steps:,} steps would keep {steps // every:,} "
                f"files: at most {MOST_KEPT:,} are kept. Raise keep_every (--keep-every)."
            )
        return sorted({*range(every, steps + 1, every), steps})


def train(  # noqa: PLR0913 - each argument is an independent choice
    config: TrainConfig,
    store: Store,
    directory: Path,
    *,
    resume: bool = False,
    pace: Pace | None = None,
    watch: TrainingWatch | None = None,
    more_logs: Callable[[Run], Sequence[Log]] | None = None,
    stop: Callable[[], bool] | None = None,
    device: str = "cpu",
    data_in: DataIn = "auto",
    window_bytes: int = WINDOW_BYTES,
    say: Callable[[str], None] = silence,
) -> Run:
    """Train, from the start or from the last checkpoint.

    Only one process at a time can train in a run directory: a second one raises
    `goalsets.lock.InUseError`, which names the process that uses it.

    Args:
        config: The run.
        store: The data.
        directory: The run directory.
        resume: Continue an existing run; otherwise the directory must not contain a run.
        pace: How often to log, to write checkpoints and to keep weights.
        watch: Receives the progress.
        more_logs: Makes further logs.
        stop: Called after every step; when it returns True, a checkpoint is written and
            `goalsets.train.loop.StoppedError` is raised.
        device: The device to compute on, such as cuda. A run can continue on another device, but
            the result is then not bit for bit the same.
        data_in: Where the data is: a standardised copy in memory, or the memory-mapped files of
            the store, which need little memory at any size. By default the size decides. The
            weights are the same.
        window_bytes: If the observations are larger than this, they are drawn from through a
            window of this size (see `goalsets.data.window`). The weights depend on it.
        say: Called with messages about long work before the first step.
    """
    pace = pace or Pace()
    with lock_run(directory):
        run, trainer = prepare(
            config,
            store,
            directory,
            pace=pace,
            resume=resume,
            more_logs=more_logs,
            device=device,
            data_in=data_in,
            window_bytes=window_bytes,
            say=say,
        )
        _train(run, trainer, pace, watch, stop)
    return run


def _train(
    run: Run,
    trainer: Trainer,
    pace: Pace,
    watch: TrainingWatch | None,
    stop: Callable[[], bool] | None,
) -> None:
    """Train to each mark, and keep the weights there."""
    after = trainer.progress.step
    if watch is not None:
        watch.begin(run, trainer.progress)
    try:
        for mark in pace.marks(trainer.config.steps):
            if mark > after or not run.weights(mark).exists():
                trainer.run(until=mark, on_step=_tell(watch, trainer), stop=stop)
                # If the checkpoint is after this mark, its weights are lost.
                if trainer.progress.step == mark:
                    run.keep_weights(trainer.learner, trainer.progress)
            if watch is not None and run.weights(mark).exists():
                watch.kept(run, replace(trainer.progress, step=mark))
    finally:
        trainer.close()


def prepare(  # noqa: PLR0913 - as above
    config: TrainConfig,
    store: Store,
    directory: Path,
    *,
    pace: Pace,
    resume: bool,
    frame: Frame | None = None,
    data: Trajectories | None = None,
    arrivals: SplitArrivals | None = None,
    more_logs: Callable[[Run], Sequence[Log]] | None = None,
    device: str = "cpu",
    data_in: DataIn = "auto",
    window_bytes: int = WINDOW_BYTES,
    say: Callable[[str], None] = silence,
) -> tuple[Run, Trainer]:
    """Open a run directory, and make the trainer that continues there.

    Args:
        config: The run.
        store: The data.
        directory: The run directory.
        pace: How often to log and to write checkpoints.
        resume: Continue an existing run.
        frame: The frame of the data, if the caller has it already.
        data: A standardised copy of the data, if the caller has one.
        arrivals: The arrivals of the data, if the caller has them.
        more_logs: Makes further logs.
        device: The device to compute on.
        data_in: Where the data is; not used if `data` is given.
        window_bytes: As for `train`.
        say: As for `train`.
    """
    check_device(device)
    check_precision(config.precision, device, say)
    place = choose_place(data_in, store.train)
    frame = frame or make_frame(config, store)
    run = _open(config, frame, store, directory, resume=resume)
    frame = run.frame  # a resumed run has its own frame
    arrivals = arrivals or make_arrivals(config, frame, store, say)
    held_out = draw_held_out(
        config, frame, store.validation, window_bytes=window_bytes, arrivals=arrivals.validation
    )
    if data is not None:
        source = DataSource(data, seed=config.seed, window_bytes=window_bytes)
    else:
        source = make_source(
            store.train, frame.normaliser, place, seed=config.seed, window_bytes=window_bytes
        )
    trainer = Trainer(
        config,
        make_learner(config, frame, draw_bank(config, source)),
        make_sampler(config, frame, source, arrivals.train),
        directory,
        log_every=pace.log_every,
        checkpoint_every=pace.checkpoint_every,
        device=device,
        held_out=held_out,
    )
    after = trainer.progress.step
    more = more_logs(run) if more_logs is not None else ()
    trainer.logs = [CsvLog(directory, after), TensorBoardLog(directory, after), *more]
    return run, trainer


def check_device(name: str) -> None:
    """Raise an error if torch cannot use a device on this machine."""
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise GoalsetsError(f"cannot train on the device {name!r} here: {reason}") from None


def _open(config: TrainConfig, frame: Frame, store: Store, directory: Path, *, resume: bool) -> Run:
    # A run that was stopped before its first checkpoint is simply started again.
    if not (directory / CONFIG).exists() or not (directory / CHECKPOINT).exists():
        return Run.create(directory, config, frame, store)
    if not resume:
        raise RunError(
            f"{directory} contains a run already. Use --resume to continue it, or another --output."
        )
    run = Run.open(directory)
    run.check_same(config, store)
    return run


def _tell(
    watch: TrainingWatch | None, trainer: Trainer
) -> Callable[[int, dict[str, float]], None] | None:
    if watch is None:
        return None
    return lambda _, metrics: watch.step(trainer.progress, metrics)
