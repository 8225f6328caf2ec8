"""The training loop: draw, step, follow, record, checkpoint."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import nn

from goalsets.core import GoalsetsError
from goalsets.learners import Batch, Learner
from goalsets.nets import compute_in
from goalsets.relabel.sampler import Arrays, Generators, Sampler
from goalsets.runs.config import TrainConfig
from goalsets.runs.weights import CHECKPOINT, Moment, Progress
from goalsets.train.checkpoint import load_checkpoint, save_checkpoint
from goalsets.train.log import HELD_OUT, Log

_LARGEST = 1e12
"""No metric of a healthy run is near this; and nothing compares with what is not a number."""


class DivergedError(GoalsetsError):
    """The loss is not a number any more."""


class StoppedError(GoalsetsError):
    """Somebody asked to stop; the checkpoint is of the last step that was taken."""


_KEPT, _SMALL = 256 << 20, 32 << 20
"""Bytes that stay with the process when they are free, and that a tensor may have to share them."""


def keep_freed_memory() -> None:
    """Have memory that a step frees be there for the next one, where the C library is GNU's.

    By itself it gives the end of its heap back to the system as soon as a few megabytes are free
    there, and every step of autograd pays for getting them again, in page faults.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another library, or none
        library = ctypes.CDLL(None)
        library.mallopt(-1, _KEPT)  # M_TRIM_THRESHOLD
        library.mallopt(-3, _SMALL)  # M_MMAP_THRESHOLD


class Trainer:
    """Trains a learner, and can be stopped at any moment.

    Args:
        config: The run.
        learner: With fresh weights; a checkpoint in `directory` replaces them.
        sampler: Where batches come from.
        directory: The run directory; None keeps nothing, for tests.
        logs: Where metrics go.
        log_every: Steps between rows of metrics.
        checkpoint_every: Steps between checkpoints.
        device: Where to compute.
        held_out: Transitions that are not trained on; their metrics are recorded with the others.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        config: TrainConfig,
        learner: Learner,
        sampler: Sampler,
        directory: Path | None = None,
        *,
        logs: Sequence[Log] = (),
        log_every: int = 100,
        checkpoint_every: int = 2_000,
        device: torch.device | str = "cpu",
        held_out: Batch[Arrays] | None = None,
    ) -> None:
        """Create the optimiser and, where there is a checkpoint, go back to it."""
        keep_freed_memory()
        self.config, self.learner, self.sampler = config, learner.to(device), sampler
        compute_in(learner, torch.bfloat16 if config.precision == "bfloat16" else None)
        self.device = device
        self.directory, self.logs = directory, logs
        self.log_every, self.checkpoint_every = log_every, checkpoint_every
        self.held_out = None if held_out is None else self._tensors(held_out)
        self.rng = Generators.from_seed(config.seed)
        self.optimiser = make_optimiser(config, learner)
        self.parameters = [p for group in self.optimiser.param_groups for p in group["params"]]
        self.progress = Progress(0, 0.0, 0.0)
        if directory is not None and (directory / CHECKPOINT).exists():
            self.progress = load_checkpoint(
                directory / CHECKPOINT, learner, self.optimiser, self.rng
            )
            sampler.source.seek(self.progress.step * config.batch_size)

    def run(
        self,
        until: int | None = None,
        on_step: Callable[[int, dict[str, float]], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Train up to a step, all of them by default.

        Args:
            until: The step to stop at.
            on_step: Called with the step and its metrics whenever they are recorded.
            stop: Asked after every step; once it says yes, a checkpoint is written and
                `StoppedError` raised.
        """
        last = self.config.steps if until is None else min(until, self.config.steps)
        self.learner.train()
        while self.progress.step < last:
            start = Moment.now()
            metrics = self.step()
            self.advance(metrics, start, last, on_step, stop)

    def advance(
        self,
        metrics: dict[str, torch.Tensor],
        start: Moment,
        last: int,
        on_step: Callable[[int, dict[str, float]], None] | None = None,
        stop: Callable[[], bool] | None = None,
        share: float = 1.0,
    ) -> None:
        """Count a step that was taken, and do what is due after it.

        Args:
            metrics: Of the step.
            start: When it began.
            last: The step to stop at: it is recorded, and has a checkpoint.
            on_step: As for `run`.
            stop: As for `run`.
            share: How much of the time since then was spent on this run.
        """
        self.progress = self.progress.after(start, share)
        step = self.progress.step
        if step % self.log_every == 0 or step == last:
            found = {name: float(value) for name, value in metrics.items()}
            self._check(found)
            found |= self.measure_held_out()
            for log in self.logs:
                log.record(step, self.progress.seconds, found)
            if on_step is not None:
                on_step(step, found)
        stopped = stop is not None and stop()
        if step % self.checkpoint_every == 0 or step == last or stopped:
            self._save()
        if stopped:
            raise StoppedError(f"stopped at step {step:,} of {self.config.steps:,}.")

    def step(self) -> dict[str, torch.Tensor]:
        """Take one gradient step, and return what there is to log."""
        batch = self.draw()
        loss, metrics = self.learner.losses(batch)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        return self.descend(loss, metrics, batch.facts)

    def draw(self) -> Batch[torch.Tensor]:
        """Draw the batch of the step that comes."""
        self._schedule()
        self.learner.conditioner.reseed((self.config.seed << 40) + self.progress.step)
        return self._tensors(self.sampler.sample(self.config.batch_size, self.rng))

    def _tensors(self, batch: Batch[Arrays]) -> Batch[torch.Tensor]:
        """Arrays as tensors; on the CPU they share their memory."""
        return batch.map(lambda array: torch.from_numpy(array).to(self.device))

    def descend(
        self, loss: torch.Tensor, metrics: dict[str, torch.Tensor], facts: Mapping[str, float]
    ) -> dict[str, torch.Tensor]:
        """Follow the gradients that the parameters have; return what there is to log.

        Args:
            loss: Whose gradients they are.
            metrics: Of the loss.
            facts: Of the batch.
        """
        metrics |= {name: torch.tensor(value) for name, value in facts.items()}
        metrics["gradient"] = self._clip()
        self.optimiser.step()
        self.learner.after_step()
        metrics["loss"] = loss.detach()
        return metrics

    @torch.no_grad()
    def measure_held_out(self) -> dict[str, float]:
        """The metrics of what is not trained on: apart from the others, it is learnt by heart."""
        if self.held_out is None:
            return {}
        loss, metrics = self.learner.losses(self.held_out)
        found = {**metrics, **self.held_out.facts, "loss": loss}
        return {HELD_OUT + name: float(value) for name, value in found.items()}

    def _schedule(self) -> None:
        """Set the learning rate of the step that comes; it depends on nothing but the step."""
        if self.config.schedule == "cosine":
            done = self.progress.step / self.config.steps
            rate = self.config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
            for group in self.optimiser.param_groups:
                group["lr"] = rate * group["rate"]

    def _clip(self) -> torch.Tensor:
        """Clip gradients, together or each network's by itself; return the norm before."""
        limit = self.config.clip if self.config.clip is not None else float("inf")
        if not self.config.clip_apart:
            return nn.utils.clip_grad_norm_(self.parameters, limit)
        norms = [
            nn.utils.clip_grad_norm_(child.parameters(), limit)
            for child in self.learner.children()
            if any(p.grad is not None for p in child.parameters())
        ]
        return torch.stack(norms).square().sum().sqrt()

    def _check(self, metrics: dict[str, float]) -> None:
        bad = [name for name, value in metrics.items() if not abs(value) < _LARGEST]
        if not bad:
            return
        kept = ""
        if self.directory is not None and (self.directory / CHECKPOINT).exists():
            kept = f" The last good checkpoint is {self.directory / CHECKPOINT}."
        raise DivergedError(
            f"{self.config.learner} diverged by step {self.progress.step}: {bad[0]} is "
            f"{metrics[bad[0]]}.{kept} Try a lower learning_rate, clip or alpha."
        )

    def _save(self) -> None:
        if self.directory is not None:
            self.directory.mkdir(parents=True, exist_ok=True)
            path = self.directory / CHECKPOINT
            save_checkpoint(path, self.learner, self.optimiser, self.rng, self.progress)


def make_optimiser(config: TrainConfig, learner: Learner) -> torch.optim.AdamW:
    """AdamW over the groups of parameters that a learner declares."""
    groups = [
        {
            "params": list(group.parameters),
            "rate": group.rate,
            "lr": config.learning_rate * group.rate,
            "weight_decay": config.weight_decay if group.decayed else 0.0,
        }
        for group in learner.parameter_groups()
    ]
    # One pass over all weights: a quarter of a small step otherwise.
    return torch.optim.AdamW(groups, fused=True)
