"""Checkpoints: everything a run needs to go on as if nothing had happened.

One safetensors file holds the learner's tensors, the optimiser's, and in its header the step and
the state of the generators. It is written beside its place and moved there, so that a kill leaves
the old checkpoint or the new one.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from goalsets.core import GoalsetsError
from goalsets.learners import TARGET, Learner
from goalsets.relabel.sampler import Generators

CHECKPOINT = "checkpoint.safetensors"
_LEARNER, _OPTIMISER = "learner.", "optimiser."


class CheckpointError(GoalsetsError):
    """A checkpoint that cannot be written or read; the message names the file."""


@dataclass(frozen=True)
class Progress:
    """Where a run is, apart from its weights."""

    step: int
    seconds: float
    """Time spent training."""


def save_checkpoint(
    path: Path,
    learner: Learner,
    optimiser: torch.optim.Optimizer,
    rng: Generators,
    progress: Progress,
) -> None:
    """Write a checkpoint in one step."""
    tensors = _learner_tensors(learner)
    tensors |= {_OPTIMISER + name: value for name, value in _optimiser_tensors(learner, optimiser)}
    generators = {
        "goals": json.dumps(rng.goals.bit_generator.state),
        "queries": json.dumps(rng.queries.bit_generator.state),
    }
    _write(path, tensors, {**_header(progress), **generators})


def save_weights(path: Path, learner: Learner, progress: Progress) -> None:
    """Write a learner's weights alone, in one step: enough to act, not to go on training."""
    tensors = _learner_tensors(learner)
    acting = {n: t for n, t in tensors.items() if not n.startswith(_LEARNER + TARGET)}
    _write(path, acting, _header(progress))


def _learner_tensors(learner: Learner) -> dict[str, torch.Tensor]:
    return {_LEARNER + name: value for name, value in learner.state_dict().items()}


def _header(progress: Progress) -> dict[str, str]:
    return {"step": str(progress.step), "seconds": repr(progress.seconds)}


def _write(path: Path, tensors: dict[str, torch.Tensor], header: dict[str, str]) -> None:
    temporary = path.with_suffix(".tmp")
    try:
        save_file({n: t.detach().contiguous() for n, t in tensors.items()}, temporary, header)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, SafetensorError) as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise CheckpointError(
            f"cannot write {path}: {error}. What was there before is still there."
        ) from error


def load_checkpoint(
    path: Path,
    learner: Learner,
    optimiser: torch.optim.Optimizer | None = None,
    rng: Generators | None = None,
) -> Progress:
    """Restore a learner and, to go on training, its optimiser and generators."""
    try:
        with safe_open(path, framework="pt") as file:
            header: dict[str, Any] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"cannot read the checkpoint {path}: {error}") from None
    try:
        absent, strange = learner.load_state_dict(_part(tensors, _LEARNER), strict=False)
    except RuntimeError as error:
        raise CheckpointError(f"{path} does not fit this learner: {error}") from None
    # Acting does without the networks that only make targets; training does not.
    absent = [name for name in absent if optimiser is not None or not name.startswith(TARGET)]
    if absent or strange:
        named = f"it lacks {absent[0]}" if absent else f"it has {strange[0]} besides"
        raise CheckpointError(f"{path} does not fit this learner: {named}.")
    if optimiser is not None:
        _restore_optimiser(learner, optimiser, _part(tensors, _OPTIMISER))
    if rng is not None:
        _restore(rng.goals, header["goals"])
        _restore(rng.queries, header["queries"])
    return Progress(int(header["step"]), float(header["seconds"]))


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _restore(generator: np.random.Generator, state: str) -> None:
    generator.bit_generator.state = json.loads(state)


def _trained(learner: Learner) -> list[tuple[str, torch.nn.Parameter]]:
    return [(n, p) for n, p in learner.named_parameters() if p.requires_grad]


def _optimiser_tensors(
    learner: Learner, optimiser: torch.optim.Optimizer
) -> list[tuple[str, torch.Tensor]]:
    """The optimiser's state under the names of the parameters it belongs to."""
    return [
        (f"{name}|{key}", torch.as_tensor(value))
        for name, parameter in _trained(learner)
        for key, value in optimiser.state.get(parameter, {}).items()
    ]


def _restore_optimiser(
    learner: Learner, optimiser: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]
) -> None:
    for name, parameter in _trained(learner):
        own = {
            k.split("|")[1]: t.to(parameter.device)
            for k, t in tensors.items()
            if k.split("|")[0] == name
        }
        if own:
            optimiser.state[parameter] = own
