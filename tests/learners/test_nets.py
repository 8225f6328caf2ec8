"""Networks: their gradients are those of each network alone; the quick actor is the actor."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from goalsets.nets import MLP, Actor, QuickActor, Scalar


def written_out(mlp: MLP, x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    """The same layers in plain operations, one network after another."""
    ensemble = len(weights[0])
    members = []
    for e in range(ensemble):
        y = x[e if len(x) > 1 else 0]
        for weight, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            y = F.gelu(y @ weight[e].T + bias[e])
        members.append(y @ weights[-2][e].T + weights[-1][e])
    return torch.stack(members)


@pytest.mark.parametrize("out_dim", [1, 3, 40])
@pytest.mark.parametrize("ensemble", [1, 2, 3])
@pytest.mark.parametrize("shared", [True, False])
def test_stacked_networks_have_the_gradients_of_each_alone(
    out_dim: int, ensemble: int, shared: bool
) -> None:
    torch.manual_seed(0)
    mlp = MLP(ensemble, 7, out_dim, layers=2, hidden=16).double()
    x = torch.randn(1 if shared else ensemble, 5, 7, dtype=torch.float64, requires_grad=True)
    wanted = torch.randn(ensemble, 5, out_dim, dtype=torch.float64)
    weights = list(mlp.parameters())
    ours = torch.autograd.grad((mlp(x) * wanted).sum(), [x, *weights])
    plain = torch.autograd.grad((written_out(mlp, x, weights) * wanted).sum(), [x, *weights])
    for left, right in zip(ours, plain, strict=True):
        torch.testing.assert_close(left, right)


def test_frozen_weights_get_no_gradient() -> None:
    mlp = MLP(2, 4, 1, layers=2, hidden=8)
    x = torch.randn(1, 6, 4, requires_grad=True)
    mlp(x, frozen=True).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0
    assert all(p.grad is None for p in mlp.parameters())


def test_weights_learn_the_same_whether_or_not_the_input_needs_a_gradient() -> None:
    mlp = MLP(2, 4, 3, layers=1, hidden=8)
    x = torch.randn(1, 6, 4)
    wanted = torch.randn(2, 6, 3)
    weights = list(mlp.parameters())
    plain = torch.autograd.grad((mlp(x) * wanted).sum(), weights)
    watched = x.clone().requires_grad_()
    with_input = torch.autograd.grad((mlp(watched) * wanted).sum(), [watched, *weights])[1:]
    assert len(plain) == len(weights) > 0
    for left, right in zip(plain, with_input, strict=True):
        torch.testing.assert_close(left, right)
        assert left.abs().sum() > 0


def test_outputs_start_at_the_bias() -> None:
    values = Scalar(5, 6, bias=-60.0, hidden=32)
    with torch.no_grad():
        found = values(torch.randn(100, 5), torch.randn(100, 6))
    assert found.shape == (2, 100)
    assert (found + 60).abs().mean() < 3


def test_quick_actor_is_the_actor() -> None:
    actor = Actor(5, 9, 3, hidden=32)
    with torch.no_grad():
        actor.scale.uniform_(0.5, 2.0)
        actor.shift.normal_()
    quick = QuickActor(actor)
    x, z = torch.randn(17, 5), torch.randn(17, 9)
    with torch.no_grad():
        torch.testing.assert_close(quick(x, z), actor(x, z))
        for p in actor.parameters():  # it follows
            p.mul_(1.1)
        torch.testing.assert_close(quick(x, z), actor(x, z))
        alone = quick.one(x[3].numpy(), z[3].numpy())
        torch.testing.assert_close(torch.from_numpy(alone), actor(x, z)[3])
