"""The training loop: draw a batch, take a step, update targets, record, write checkpoints."""

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
"""A metric that is not below this, or is NaN, means that the run has diverged."""


class DivergedError(GoalsetsError):
    """A metric has become NaN or too large."""


class StoppedError(GoalsetsError):
    """Training was stopped on request; the checkpoint is of the last step."""


_KEPT, _SMALL = 256 << 20, 32 << 20
"""How many free bytes the process keeps, and the largest allocation that can reuse them."""


def keep_freed_memory() -> None:
    """Keep the memory that a step frees for the next one, if the C library is GNU's.

    By default the library returns the end of its heap to the system as soon as a few megabytes are
    free there. Every step of autograd would then pay with page faults to get them again.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(-1, _KEPT)  # M_TRIM_THRESHOLD
        library.mallopt(-3, _SMALL)  # M_MMAP_THRESHOLD


class Trainer:
    """Trains a learner, and can be stopped at any time.

    Args:
        config: The run.
        learner: The learner with initial weights; a checkpoint in `directory` replaces them.
        sampler: The source of batches.
        directory: The run directory; None writes nothing, for tests.
        logs: The logs for metrics.
        log_every: Steps between rows of metrics.
        checkpoint_every: Steps between checkpoints.
        device: The device to compute on.
        held_out: Transitions that are not trained on; their metrics are recorded too.
    """

    def __init__(  # noqa: PLR0913 - each argument is an independent choice
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
        """Create the optimiser; if there is a checkpoint, restore it."""
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
        """Train up to a step; by default up to the last one.

        Args:
            until: The step to stop at.
            on_step: Called with the step and its metrics whenever they are recorded.
            stop: Called after every step; when it returns True, a checkpoint is written and
                `StoppedError` is raised.
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
        """Count a step; record metrics and write a checkpoint when it is time.

        Args:
            metrics: The metrics of the step.
            start: When the step began.
            last: The step to stop at; it is always recorded and gets a checkpoint.
            on_step: As for `run`.
            stop: As for `run`.
            share: The share of the time since `start` that was spent on this run.
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
        """Take one gradient step and return its metrics."""
        batch = self.draw()
        loss, metrics = self.learner.losses(batch)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        return self.descend(loss, metrics, batch.facts)

    def draw(self) -> Batch[torch.Tensor]:
        """Draw the batch of the next step."""
        self._schedule()
        self.learner.conditioner.reseed((self.config.seed << 40) + self.progress.step)
        return self._tensors(self.sampler.sample(self.config.batch_size, self.rng))

    def _tensors(self, batch: Batch[Arrays]) -> Batch[torch.Tensor]:
        """Convert arrays to tensors; on the CPU they share memory."""
        return batch.map(lambda array: torch.from_numpy(array).to(self.device))

    def descend(
        self, loss: torch.Tensor, metrics: dict[str, torch.Tensor], facts: Mapping[str, float]
    ) -> dict[str, torch.Tensor]:
        """Take a step of the optimiser with the parameters' gradients; return the metrics.

        Args:
            loss: The loss of the gradients.
            metrics: The metrics of the loss.
            facts: The statistics of the batch.
        """
        metrics |= {name: torch.tensor(value) for name, value in facts.items()}
        metrics["gradient"] = self._clip()
        self.optimiser.step()
        self.learner.after_step()
        metrics["loss"] = loss.detach()
        return metrics

    @torch.no_grad()
    def measure_held_out(self) -> dict[str, float]:
        """The metrics on held-out transitions; a growing gap to the others means overfitting."""
        if self.held_out is None:
            return {}
        loss, metrics = self.learner.losses(self.held_out)
        found = {**metrics, **self.held_out.facts, "loss": loss}
        return {HELD_OUT + name: float(value) for name, value in found.items()}

    def _schedule(self) -> None:
        """Set the learning rate of the next step; it depends only on the step."""
        if self.config.schedule == "cosine":
            done = self.progress.step / self.config.steps
            rate = self.config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
            for group in self.optimiser.param_groups:
                group["lr"] = rate * group["rate"]

    def _clip(self) -> torch.Tensor:
        """Clip gradients, together or for each network; return the norm before clipping."""
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

    def close(self) -> None:
        """Close the logs."""
        for log in self.logs:
            log.close()

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
    # Fused: one pass over all weights. Otherwise the optimiser takes a quarter of a small step.
    return torch.optim.AdamW(groups, fused=True)
