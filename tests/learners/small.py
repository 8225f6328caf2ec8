"""Small learners and batches, and a network written out by hand."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from goalsets.condition import GoalSetConditioner
from goalsets.learners import LEARNERS, BatchTensors, GoalTensors, Learner, Problem

DIM, ACTIONS, SIZE, HORIZON = 6, 2, 32, 50


def make_batch(seed: int = 0) -> BatchTensors:
    torch.manual_seed(seed)

    def goals() -> GoalTensors:
        steps = torch.randint(-1, 20, (SIZE,))
        return GoalTensors(torch.randn(SIZE, DIM), torch.rand(SIZE, DIM) < 0.6, steps)

    return BatchTensors(
        states=torch.randn(SIZE, DIM),
        actions=torch.randn(SIZE, ACTIONS),
        next_states=torch.randn(SIZE, DIM),
        value_goals=goals(),
        actor_goals=goals(),
        at_goal=torch.rand(SIZE) < 0.2,
        next_at_goal=torch.rand(SIZE) < 0.2,
    )


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
