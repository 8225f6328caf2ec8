"""Checkpoints: everything that a run needs to continue exactly where it stopped.

One safetensors file holds the tensors of the learner and of the optimiser. Its header holds the
step and the state of the generators.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from goalsets.core import door
from goalsets.learners import Learner
from goalsets.relabel.sampler import Generators
from goalsets.runs.weights import (
    Progress,
    Tensors,
    WeightsError,
    fill_learner,
    learner_tensors,
    progress_of,
    read_tensors,
    tensors_of,
    write_tensors,
)

_OPTIMISER = "optimiser."


def save_checkpoint(
    path: Path,
    learner: Learner,
    optimiser: torch.optim.Optimizer,
    rng: Generators,
    progress: Progress,
) -> None:
    """Write a checkpoint in one step."""
    tensors = learner_tensors(learner)
    tensors |= {_OPTIMISER + name: value for name, value in _optimiser_tensors(learner, optimiser)}
    generators = {
        "goals": json.dumps(rng.goals.bit_generator.state),
        "queries": json.dumps(rng.queries.bit_generator.state),
    }
    write_tensors(path, tensors, {**progress.header(), **generators})


def load_checkpoint(
    path: Path, learner: Learner, optimiser: torch.optim.Optimizer, rng: Generators
) -> Progress:
    """Restore a learner, its optimiser and its generators, to continue training."""
    tensors, header = read_tensors(path)
    fill_learner(path, learner, tensors, training=True)
    _restore_optimiser(path, learner, optimiser, tensors_of(tensors, _OPTIMISER))
    for name, generator in (("goals", rng.goals), ("queries", rng.queries)):
        _restore(generator, str(header.get(name, "")), f"{path}: the generator of {name}")
    return progress_of(header, path)


def _restore(generator: np.random.Generator, text: str, place: str) -> None:
    state = door.parse_json(text, place, kind=WeightsError)
    try:
        generator.bit_generator.state = state
    except (ValueError, TypeError, LookupError, OverflowError) as error:
        raise WeightsError(f"{place} cannot be restored: {error}.") from None


def _trained(learner: Learner) -> list[tuple[str, torch.nn.Parameter]]:
    return [(n, p) for n, p in learner.named_parameters() if p.requires_grad]


def _optimiser_tensors(
    learner: Learner, optimiser: torch.optim.Optimizer
) -> list[tuple[str, torch.Tensor]]:
    """The optimiser's state, by the names of the parameters."""
    return [
        (f"{name}|{key}", torch.as_tensor(value))
        for name, parameter in _trained(learner)
        for key, value in optimiser.state.get(parameter, {}).items()
    ]


def _restore_optimiser(
    path: Path, learner: Learner, optimiser: torch.optim.Optimizer, tensors: Tensors
) -> None:
    found: dict[str, Tensors] = {}
    for key, value in tensors.items():
        name, _, slot = key.partition("|")
        found.setdefault(name, {})[slot] = value
    for name, parameter in _trained(learner):
        own = found.get(name, {})
        for slot, value in own.items():
            if value.shape not in (parameter.shape, ()) or not value.is_floating_point():
                raise WeightsError(
                    f"{path}: the optimiser's {slot!r} of {name} has shape {list(value.shape)} of "
                    f"{value.dtype}, expected numbers of shape {list(parameter.shape)}."
                )
        if own:
            optimiser.state[parameter] = {k: t.to(parameter.device) for k, t in own.items()}
