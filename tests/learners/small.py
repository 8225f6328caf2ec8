"""Small learners and batches, and a network written out by hand."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from goalsets.condition import GoalSetConditioner
from goalsets.learners import LEARNERS, Batch, BatchSpec, Goals, Learner, Problem

DIM, ACTIONS, SIZE, HORIZON = 6, 2, 32, 50


def make_batch(seed: int = 0, spec: BatchSpec | None = None) -> Batch[torch.Tensor]:
    """Random transitions as a learner asks for them; by default goals for a value and an actor."""
    torch.manual_seed(seed)
    spec = spec or Learner.batch_spec(None)

    def goals(labels: bool) -> Goals[torch.Tensor]:
        steps = torch.randint(-1, 20, (SIZE,))
        told = (torch.rand(SIZE) < 0.2, torch.rand(SIZE) < 0.2) if labels else None
        return Goals(torch.randn(SIZE, DIM), torch.rand(SIZE, DIM) < 0.6, steps, told)

    several = () if spec.actions == 1 else (spec.actions,)
    return Batch(
        states=torch.randn(SIZE, DIM),
        actions=torch.randn(SIZE, *several, ACTIONS),
        next_states=torch.randn(SIZE, DIM),
        goals={name: goals(mixture.labels) for name, mixture in spec.goals.items()},
        later={k: torch.randn(SIZE, DIM) for k in spec.later},
        taken=torch.rand(SIZE, *several) < 0.9 if several else None,
    )


def batch_for(learner: Learner, seed: int = 0) -> Batch[torch.Tensor]:
    """Random transitions as this learner asks for them."""
    return make_batch(seed, learner.batch_spec(learner.config))


def make(name: str, **settings: object) -> Learner:
    torch.manual_seed(1)
    kind = LEARNERS[name]
    problem = Problem(
        DIM, ACTIONS, HORIZON, torch.full((ACTIONS,), -1.5), torch.full((ACTIONS,), 1.5)
    )
    return kind(problem, GoalSetConditioner(DIM), kind.Config(**settings))


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
