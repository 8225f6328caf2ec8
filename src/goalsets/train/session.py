"""A training session: a configuration and a store become a run directory, or continue one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch

from goalsets.core import GoalsetsError, StateLayout
from goalsets.data.bounds import Bounds, Limits
from goalsets.data.drawing import DataIn, DataSource, choose_place, make_source
from goalsets.data.horizon import usual_horizon
from goalsets.data.normaliser import Normaliser
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.data.window import WINDOW_BYTES
from goalsets.envs.task import Task
from goalsets.envs.tasks import TASKS
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
from goalsets.train.log import CsvLog, Log, TensorBoardLog
from goalsets.train.loop import Trainer
from goalsets.train.precision import check_precision
from goalsets.workers import silence


class TrainingWatch(Protocol):
    """Somebody who wants to know how a training gets on."""

    def begin(self, run: Run, progress: Progress) -> None:
        """Hear where it begins."""
        ...

    def step(self, progress: Progress, metrics: dict[str, float]) -> None:
        """Hear of recorded metrics."""
        ...

    def kept(self, run: Run, progress: Progress) -> None:
        """Hear that the weights of a step were kept, and may be evaluated."""
        ...


@dataclass(frozen=True)
class Pace:
    """How often a session does what it does besides stepping."""

    log_every: int = 100
    """Steps between rows of metrics."""
    checkpoint_every: int = 1_000
    """Steps between checkpoints."""
    keep_every: int | None = None
    """Steps between weights that are kept; those of the last step are always."""

    def marks(self, steps: int) -> list[int]:
        """The steps whose weights are kept."""
        every = self.keep_every or steps
        return sorted({*range(every, steps + 1, every), steps})


def train(  # noqa: PLR0913 - each is a choice of its own
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

    One process at a time trains in a run directory: a second one raises
    `goalsets.lock.InUseError`, which says who has it.

    Args:
        config: The run.
        store: The data.
        directory: The run directory.
        resume: Continue what is there; otherwise the directory must not hold a run.
        pace: How often to log, to checkpoint and to keep weights.
        watch: Told how it gets on.
        more_logs: Where else metrics go.
        stop: Asked after every step; once it says yes, a checkpoint is written and
            `goalsets.train.loop.StoppedError` raised.
        device: Where to compute, such as cuda. A run that changes its device continues, but not
            bit for bit.
        data_in: Where the data is: a standardised copy in memory, or a mapped store's files, which
            takes little memory however large they are; chosen by size unless given. The weights
            are the same.
        window_bytes: Data with larger observations is drawn from through a window of this size
            (see `goalsets.data.window`); the weights depend on it.
        say: Told of what takes long before the first step.
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
    """Train from mark to mark, and keep the weights of each."""
    after = trainer.progress.step
    if watch is not None:
        watch.begin(run, trainer.progress)
    try:
        for mark in pace.marks(trainer.config.steps):
            if mark > after or not run.weights(mark).exists():
                trainer.run(until=mark, on_step=_tell(watch, trainer), stop=stop)
                # A checkpoint further on than this mark means its weights are gone for good.
                if trainer.progress.step == mark:
                    run.keep_weights(trainer.learner, trainer.progress)
            if watch is not None and run.weights(mark).exists():
                watch.kept(run, replace(trainer.progress, step=mark))
    finally:
        for log in trainer.logs:
            log.close()


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
    """Open a run directory, and put the trainer together that goes on where it is.

    Args:
        config: The run.
        store: The data.
        directory: The run directory.
        pace: How often to log and to checkpoint.
        resume: Continue what is there.
        frame: What is known of the data, if somebody knows it already.
        data: A standardised copy of the data, if somebody has one.
        arrivals: Those of the data, likewise.
        more_logs: Where else metrics go.
        device: Where to compute.
        data_in: Where the data is, unless it is given.
        window_bytes: As for `train`.
        say: Likewise.
    """
    check_device(device)
    check_precision(config.precision, device, say)
    place = choose_place(data_in, store.train)
    frame = frame or make_frame(config, store)
    run = _open(config, frame, store, directory, resume=resume)
    frame = run.frame  # of a run that goes on, what it began with
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
    """Raise an error for a device that torch does not have here."""
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise GoalsetsError(f"there is no device {name!r} to train on here: {reason}") from None


def make_frame(config: TrainConfig, store: Store) -> Frame:
    """What a run knows of its data: the task's layout and horizon, or the store's own."""
    layout = store.layout
    task = TASKS[config.task] if config.task in TASKS else None  # noqa: SIM401
    if task is not None:
        _check_fits(store, task.layout)
        layout = task.layout
    if layout is None:
        raise GoalsetsError(
            f"{store.path} has no layout, so nothing can be asked by name. Import it again with "
            "--layout."
        )
    if store.train.num_transitions < 1:
        raise GoalsetsError(f"{store.path} has no transitions to train on.")
    horizon = config.horizon or (
        task.relabel_horizon if task is not None else usual_horizon(store.train, layout)
    )
    normaliser = Normaliser.fit(store.train)
    return Frame(layout, normaliser, horizon, choose_bounds(config, store, task))


def choose_bounds(config: TrainConfig, store: Store, task: Task | None) -> Bounds:
    """The bounds of actions: as the run says, else the store, if somebody set them there.

    Else the environment knows them; and without one, the store does.
    """
    known = store.bounds
    space = None
    if task is not None and known.origin != "given":
        space = task.action_bounds(len(known.low))
    return Limits(space, config.action_low, config.action_high).bounds(known)


def _check_fits(store: Store, layout: StateLayout) -> None:
    dim = store.trajectories.observations.shape[1]
    if dim != layout.dim:
        raise GoalsetsError(
            f"{store.path} has states of {dim} coordinates; layout {layout.name!r} has "
            f"{layout.dim}."
        )


def _open(config: TrainConfig, frame: Frame, store: Store, directory: Path, *, resume: bool) -> Run:
    # A run that was stopped before its first checkpoint has nothing to lose.
    if not (directory / CONFIG).exists() or not (directory / CHECKPOINT).exists():
        return Run.create(directory, config, frame, store)
    if not resume:
        raise RunError(
            f"{directory} holds a run already. Use --resume to continue it, or another --output."
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
