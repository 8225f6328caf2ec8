"""Weights in files: safetensors, written whole or not at all, and read with suspicion."""

from __future__ import annotations

import contextlib
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save

from goalsets.core import GoalsetsError
from goalsets.core.door import tensors
from goalsets.learners import TARGET, Learner

CHECKPOINT = "checkpoint.safetensors"
LEARNER = "learner."
"""How the names of a learner's tensors begin in a file."""

Tensors = dict[str, torch.Tensor]


class WeightsError(GoalsetsError):
    """A file of weights that cannot be written or read; the message names the file."""


@dataclass(frozen=True)
class Progress:
    """Where a run is, apart from its weights."""

    step: int
    seconds: float
    """Time spent training."""
    processor_seconds: float | None = None
    """The processor's share of it, over all threads: what other programs took is not in it.
    None in files that older versions wrote."""

    def after(self, start: Moment, share: float = 1.0) -> Progress:
        """Where a run is after one more step.

        Args:
            start: When the step began.
            share: How much of the time since then was spent on this run.
        """
        now, spent = Moment.now(), self.processor_seconds
        if spent is not None:
            spent += share * (now.processor - start.processor)
        return Progress(self.step + 1, self.seconds + share * (now.clock - start.clock), spent)

    def header(self) -> dict[str, str]:
        """As a file's header says it."""
        known = {"step": str(self.step), "seconds": repr(self.seconds)}
        if self.processor_seconds is not None:
            known["processor_seconds"] = repr(self.processor_seconds)
        return known

    def record(self) -> dict[str, Any]:
        """As the record of an evaluation says it."""
        known = {"step": self.step, "training_seconds": round(self.seconds, 2)}
        if self.processor_seconds is not None:
            known["processor_seconds"] = round(self.processor_seconds, 2)
        return known


@dataclass(frozen=True)
class Moment:
    """A moment by the clock, and by what the processor has spent on this process."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> Moment:
        """This moment."""
        return cls(time.perf_counter(), time.process_time())


def save_weights(path: Path, learner: Learner, progress: Progress) -> None:
    """Write a learner's weights alone, in one step: enough to act, not to go on training."""
    whole = learner_tensors(learner)
    acting = {n: t for n, t in whole.items() if not n.startswith(LEARNER + TARGET)}
    write_tensors(path, acting, progress.header())


def learner_tensors(learner: Learner) -> Tensors:
    """A learner's tensors under the names that they have in a file."""
    return {LEARNER + name: value for name, value in learner.state_dict().items()}


def fill_learner(path: Path, learner: Learner, values: Tensors, *, training: bool) -> None:
    """Give a learner its tensors; acting does without the networks that only make targets."""
    try:
        absent, strange = learner.load_state_dict(tensors_of(values, LEARNER), strict=False)
    except (RuntimeError, TypeError) as error:
        raise WeightsError(f"{path} does not fit this learner: {error}") from None
    absent = [name for name in absent if training or not name.startswith(TARGET)]
    if absent or strange:
        named = f"it lacks {absent[0]}" if absent else f"it has {strange[0]} besides"
        raise WeightsError(f"{path} does not fit this learner: {named}.")


def tensors_of(values: Tensors, prefix: str) -> Tensors:
    """The tensors whose names begin with a prefix, without it."""
    return {n.removeprefix(prefix): t for n, t in values.items() if n.startswith(prefix)}


def progress_of(header: dict[str, Any], path: Path) -> Progress:
    """What a file's header says of the run."""
    try:
        spent = header.get("processor_seconds")
        step, seconds = int(header["step"]), float(header["seconds"])
        if not (0 <= step < 1 << 60 and math.isfinite(seconds)):
            raise ValueError(step, seconds)
        return Progress(step, seconds, None if spent is None else float(spent))
    except (KeyError, TypeError, ValueError):
        raise WeightsError(f"{path} does not say which step it is of.") from None


def read_tensors(path: Path) -> tuple[Tensors, dict[str, Any]]:
    """All tensors of a file, and its header."""
    found = tensors.read_tensors(path, "pt", what="the checkpoint", kind=WeightsError)
    return found.tensors, dict[str, Any](found.metadata)


def write_tensors(path: Path, values: Tensors, header: dict[str, str]) -> None:
    """Write a file beside its place and move it there: a kill leaves the old one or the new."""
    temporary = path.with_suffix(".tmp")
    try:
        whole = {name: value.detach().contiguous() for name, value in values.items()}
        with temporary.open("wb") as file:
            file.write(tensors.sealed(save, whole, header))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, SafetensorError) as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise WeightsError(
            f"cannot write {path}: {error}. What was there before is still there."
        ) from error
