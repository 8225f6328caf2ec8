"""Several seeds of one configuration in one process, with stacked parameters.

One small network leaves an accelerator mostly idle. Here the tensors of all seeds are in one stack;
the tensors of each learner are views of it. The losses and gradients of all seeds are computed
together. Everything cheap is separate: each seed has its own batches, gradient clipping, optimiser,
metrics, checkpoints and directory, as if it were trained alone. The results equal those of separate
training within floating-point tolerance.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from goalsets.core import GoalsetsError
from goalsets.data.drawing import DataIn, choose_place
from goalsets.data.store import Store
from goalsets.data.window import WINDOW_BYTES
from goalsets.learners import Batch, Learner
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run, lock_run
from goalsets.runs.weights import Moment
from goalsets.train.build import make_arrivals
from goalsets.train.frame import make_frame
from goalsets.train.loop import DivergedError, StoppedError, Trainer
from goalsets.train.session import Pace, prepare
from goalsets.workers import silence

Stop = Callable[[int, int], bool]
"""Called with the number of a seed in the stack and its step; returns whether to stop."""


class Stack:
    """The learners of several trainers, computed together.

    Args:
        trainers: Trainers at the same step, whose learners differ only in their weights.
    """

    def __init__(self, trainers: Sequence[Trainer]) -> None:
        """Move the learners' tensors into a stack."""
        self.trainers = list(trainers)
        learners = [trainer.learner for trainer in trainers]
        self._template = _Losses(copy.deepcopy(learners[0]))
        self._trained: dict[str, Tensor] = {}
        self._fixed: dict[str, Tensor] = {}
        for name, tensor in _tensors(learners[0]).items():
            own = [_tensors(learner)[name] for learner in learners]
            stack = torch.stack([each.detach() for each in own])
            for each, part in zip(own, stack, strict=True):
                each.data = part
            (self._trained if tensor.requires_grad else self._fixed)["learner." + name] = stack

    def step(self) -> list[dict[str, Tensor]]:
        """Take one gradient step of each, and return the metrics of each."""
        drawn = [trainer.draw() for trainer in self.trainers]
        self._template.form = drawn[0]
        parts = zip(*(batch.arrays() for batch in drawn), strict=True)
        batch = [torch.stack(part) for part in parts]
        every = torch.func.vmap(torch.func.grad(self._loss, has_aux=True))
        gradients, (losses, metrics) = every(self._trained, self._fixed, batch)
        found: list[dict[str, Tensor]] = []
        for index, trainer in enumerate(self.trainers):
            for name, parameter in _tensors(trainer.learner).items():
                if parameter.requires_grad:
                    # The fused optimiser assumes that a gradient has the same memory layout as
                    # its parameter.
                    parameter.grad = gradients["learner." + name][index].contiguous()
            own = {name: value[index] for name, value in metrics.items()}
            found.append(trainer.descend(losses[index], own, drawn[index].facts))
        return found

    def _loss(
        self, trained: dict[str, Tensor], fixed: dict[str, Tensor], batch: list[Tensor]
    ) -> tuple[Tensor, tuple[Tensor, dict[str, Tensor]]]:
        loss, metrics = torch.func.functional_call(self._template, (trained, fixed), (batch,))
        return loss, (loss.detach(), metrics)


class _Losses(nn.Module):
    """A module whose forward computes the losses of a learner."""

    def __init__(self, learner: Learner) -> None:
        super().__init__()
        self.learner = learner
        self.form: Batch[Tensor] | None = None
        """Any batch of the learner: it gives the form of the others."""

    def forward(self, batch: list[Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        assert self.form is not None
        return self.learner.losses(self.form.replaced(batch))


def train_together(  # noqa: PLR0913 - each argument is an independent choice
    configs: Sequence[TrainConfig],
    store: Store,
    directories: Sequence[Path],
    *,
    pace: Pace | None = None,
    stop: Stop | None = None,
    device: str = "cpu",
    data_in: DataIn = "auto",
    window_bytes: int = WINDOW_BYTES,
    say: Callable[[str], None] = silence,
) -> list[Run | DivergedError]:
    """Train, from the start or from the last checkpoints.

    Args:
        configs: Configurations that differ only in their seed.
        store: The data.
        directories: The run directories.
        pace: How often to log, to write checkpoints and to keep weights.
        stop: Called after every step of each; when it returns True, all write checkpoints and
            `StoppedError` is raised.
        device: The device to compute on.
        data_in: Where the data is, as for `goalsets.train.session.train`. In memory all share one
            copy; on disk each has its own window.
        window_bytes: As for `goalsets.train.session.train`.
        say: Called with messages about long work.

    Returns:
        For each configuration its run, or its error if it diverged; the others then continue.
    """
    check_stackable(configs)
    pace = pace or Pace()
    with contextlib.ExitStack() as at_end:
        for directory in directories:
            at_end.enter_context(lock_run(directory))
        frame = make_frame(configs[0], store)
        place = choose_place(data_in, store.train)
        data = frame.normaliser.apply(store.train) if place == "memory" else None
        arrivals = make_arrivals(configs[0], frame, store, say)
        runs: dict[int, Run] = {}
        trainers: dict[int, Trainer] = {}
        for index, (config, directory) in enumerate(zip(configs, directories, strict=True)):
            runs[index], trainers[index] = prepare(
                config,
                store,
                directory,
                frame=frame,
                data=data,
                arrivals=arrivals,
                pace=pace,
                resume=True,
                device=device,
                data_in=place,
                window_bytes=window_bytes,
            )
            at_end.callback(trainers[index].close)
        diverged: dict[int, DivergedError] = {}
        for mark in pace.marks(configs[0].steps):
            _reach(mark, trainers, diverged, stop)
            for index, trainer in trainers.items():
                run = runs[index]
                if trainer.progress.step == mark and not run.weights(mark).exists():
                    run.keep_weights(trainer.learner, trainer.progress)
        return [diverged.get(index, run) for index, run in runs.items()]


def check_stackable(configs: Sequence[TrainConfig]) -> None:
    """Raise an error unless runs can be trained together."""
    first = configs[0]
    if first.fill == "random":
        raise GoalsetsError(
            "seeds cannot be trained together with fill 'random', because each draws its own fills "
            "inside the loss. Train them separately."
        )
    for config in configs[1:]:
        if dataclasses.replace(config, seed=first.seed) != first:
            raise GoalsetsError(
                "only runs that differ only in their seed can be trained together. Train these "
                "separately."
            )


def _reach(
    mark: int,
    trainers: dict[int, Trainer],
    diverged: dict[int, DivergedError],
    stop: Stop | None,
) -> None:
    """Train all to a step; those that diverge are removed."""
    # After a kill, some checkpoints may be older than others. These runs first catch up alone.
    front = min(mark, max((t.progress.step for t in trainers.values()), default=mark))
    for index, trainer in list(trainers.items()):
        own = None if stop is None else _of(stop, index, trainer)
        try:
            trainer.run(until=front, stop=own)
        except DivergedError as error:
            diverged[index] = error
            del trainers[index]
    while trainers and min(t.progress.step for t in trainers.values()) < mark:
        stack = Stack(list(trainers.values()))
        for trainer in trainers.values():
            trainer.learner.train()
        while len(stack.trainers) == len(trainers) and front < mark:
            front += 1
            _step(stack, mark, trainers, diverged, stop)


def _step(
    stack: Stack,
    last: int,
    trainers: dict[int, Trainer],
    diverged: dict[int, DivergedError],
    stop: Stop | None,
) -> None:
    start, share = Moment.now(), 1.0 / len(stack.trainers)
    found = stack.step()
    asked = [
        stop is not None and stop(index, trainer.progress.step + 1)
        for index, trainer in trainers.items()
    ]
    stopping = any(asked)
    stopped: StoppedError | None = None
    for (index, trainer), metrics in zip(list(trainers.items()), found, strict=True):
        try:
            trainer.advance(metrics, start, last, stop=lambda: stopping, share=share)
        except DivergedError as error:
            diverged[index] = error
            del trainers[index]
        except StoppedError as error:
            stopped = error
    if stopped is not None:
        raise stopped


def _of(stop: Stop, index: int, trainer: Trainer) -> Callable[[], bool]:
    return lambda: stop(index, trainer.progress.step)


def _tensors(learner: Learner) -> dict[str, Tensor]:
    return {**dict(learner.named_parameters()), **dict(learner.named_buffers())}
