"""Small learners and batches, and a network written out by hand."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from goalsets.learners import Batch, BatchSpec, Learner
from goalsets.testing import learners
from goalsets.testing.learners import ACTIONS, DIM, HORIZON, SIZE, batch_for
from goalsets.testing.learners import make_learner as make

__all__ = ["ACTIONS", "DIM", "HORIZON", "SIZE", "alone", "batch_for", "make", "make_batch"]


def make_batch(seed: int = 0, spec: BatchSpec | None = None) -> Batch[torch.Tensor]:
    """Random transitions as asked for; by default goals for a value and an actor."""
    return learners.make_batch(spec or Learner.batch_spec(None), seed)


def alone(net: torch.nn.Module, member: int, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """One network of an ensemble, written out with plain linear layers."""

    def run(mlp: torch.nn.Module, y: torch.Tensor) -> torch.Tensor:
        for layer in mlp.layers[:-1]:
            y = F.gelu(y @ layer.weight[member].T + layer.bias[member])
        return y @ mlp.last.weight[member].T + mlp.last.bias[member]

    h = run(net.encoder, z)
    h = (h - h.mean(-1, keepdim=True)) / (h.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    h = h * net.scale[member] + net.shift[member]
    return run(net.trunk, torch.cat([x, h], -1))
