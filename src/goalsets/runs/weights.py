"""Weights in safetensors files: written in one step, and checked when they are read."""

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
"""The prefix of a learner's tensors in a file."""

Tensors = dict[str, torch.Tensor]


class WeightsError(GoalsetsError):
    """A file of weights cannot be written or read; the message names the file."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run: its step, and the time that it took."""

    step: int
    seconds: float
    """Time spent training."""
    processor_seconds: float | None = None
    """CPU time of all threads, without other programs. None in files of older versions."""

    def after(self, start: Moment, share: float = 1.0) -> Progress:
        """The progress after one more step.

        Args:
            start: When the step began.
            share: The share of the time since `start` that was spent on this run.
        """
        now, spent = Moment.now(), self.processor_seconds
        if spent is not None:
            spent += share * (now.processor - start.processor)
        return Progress(self.step + 1, self.seconds + share * (now.clock - start.clock), spent)

    def header(self) -> dict[str, str]:
        """The progress as the header of a file."""
        known = {"step": str(self.step), "seconds": repr(self.seconds)}
        if self.processor_seconds is not None:
            known["processor_seconds"] = repr(self.processor_seconds)
        return known

    def record(self) -> dict[str, Any]:
        """The progress as fields of an evaluation's record."""
        known = {"step": self.step, "training_seconds": round(self.seconds, 2)}
        if self.processor_seconds is not None:
            known["processor_seconds"] = round(self.processor_seconds, 2)
        return known


@dataclass(frozen=True)
class Moment:
    """A moment by the clock, and by the CPU time of this process."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> Moment:
        """The current moment."""
        return cls(time.perf_counter(), time.process_time())


def save_weights(path: Path, learner: Learner, progress: Progress) -> None:
    """Write only a learner's weights, in one step: enough to act, but not to continue training."""
    whole = learner_tensors(learner)
    acting = {name: value for name, value in whole.items() if is_acting(name)}
    write_tensors(path, acting, progress.header())


def is_acting(name: str) -> bool:
    """Whether the tensor of this name in a file is needed to act."""
    return name.startswith(LEARNER) and not name.startswith(LEARNER + TARGET)


def learner_tensors(learner: Learner) -> Tensors:
    """A learner's tensors by their names in a file."""
    return {LEARNER + name: value for name, value in learner.state_dict().items()}


def fill_learner(path: Path, learner: Learner, values: Tensors, *, training: bool) -> None:
    """Load tensors into a learner. Target networks may be missing unless it is for training."""
    try:
        absent, strange = learner.load_state_dict(tensors_of(values, LEARNER), strict=False)
    except (RuntimeError, TypeError) as error:
        raise WeightsError(f"{path} does not fit this learner: {error}") from None
    absent = [name for name in absent if training or not name.startswith(TARGET)]
    if absent or strange:
        named = f"it lacks {absent[0]}" if absent else f"it has an unknown tensor {strange[0]}"
        raise WeightsError(f"{path} does not fit this learner: {named}.")


def tensors_of(values: Tensors, prefix: str) -> Tensors:
    """The tensors whose names begin with a prefix, by the rest of their names."""
    return {n.removeprefix(prefix): t for n, t in values.items() if n.startswith(prefix)}


def progress_of(header: dict[str, Any], path: Path) -> Progress:
    """The progress in the header of a file."""
    try:
        spent = header.get("processor_seconds")
        step, seconds = int(header["step"]), float(header["seconds"])
        if not (0 <= step < 1 << 60 and math.isfinite(seconds)):
            raise ValueError(step, seconds)
        return Progress(step, seconds, None if spent is None else float(spent))
    except (KeyError, TypeError, ValueError):
        raise WeightsError(f"{path} is damaged: its header gives no step and time.") from None


def read_tensors(path: Path, *, acting: bool = False) -> tuple[Tensors, dict[str, Any]]:
    """The tensors of a file, or only those that are needed to act, and the file's header."""
    wanted = {"wanted": is_acting} if acting else {}
    found = tensors.read_tensors(path, "pt", **wanted, what="the checkpoint", kind=WeightsError)
    return found.tensors, dict[str, Any](found.metadata)


def write_tensors(path: Path, values: Tensors, header: dict[str, str]) -> None:
    """Write a temporary file and rename it, so that a kill leaves the old file or the new one."""
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
            f"cannot write {path}: {error}. The previous file, if any, is unchanged."
        ) from error
