"""Checkpoints: everything a run needs to go on as if nothing had happened.

One safetensors file holds the learner's tensors, the optimiser's, and in its header the step and
the state of the generators.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from goalsets.learners import Learner
from goalsets.relabel.sampler import Generators
from goalsets.runs.weights import (
    Progress,
    Tensors,
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
    """Restore a learner, its optimiser and its generators, to go on training."""
    tensors, header = read_tensors(path)
    fill_learner(path, learner, tensors, training=True)
    _restore_optimiser(learner, optimiser, tensors_of(tensors, _OPTIMISER))
    _restore(rng.goals, header["goals"])
    _restore(rng.queries, header["queries"])
    return progress_of(header, path)


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
    learner: Learner, optimiser: torch.optim.Optimizer, tensors: Tensors
) -> None:
    for name, parameter in _trained(learner):
        own = {
            k.split("|")[1]: t.to(parameter.device)
            for k, t in tensors.items()
            if k.split("|")[0] == name
        }
        if own:
            optimiser.state[parameter] = own
