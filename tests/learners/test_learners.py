"""What every learner keeps to, and the networks they stand on."""

from __future__ import annotations

import pytest
import torch

from goalsets.condition import GoalSetConditioner
from goalsets.learners import LEARNERS
from tests.learners.small import DIM, SIZE, alone, make, make_batch


@pytest.mark.parametrize("name", LEARNERS)
def test_losses_are_finite_and_gradients_reach_everything(name: str) -> None:
    learner, batch = make(name), make_batch()
    loss, metrics = learner.losses(batch)
    loss.backward()
    assert loss.isfinite()
    assert all(value.isfinite() and not value.requires_grad for value in metrics.values())
    for parameter_name, parameter in learner.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, f"no gradient reaches {parameter_name}"
            assert parameter.grad.abs().sum() > 0, f"the gradient of {parameter_name} is zero"


@pytest.mark.parametrize("name", LEARNERS)
def test_saving_and_loading_gives_equal_actions(name: str) -> None:
    learner, batch = make(name), make_batch()
    torch.manual_seed(99)
    other = LEARNERS[name](learner.problem, GoalSetConditioner(DIM), learner.config)
    z = learner.condition(batch.states, batch.goals["actor"])
    other.load_state_dict(learner.state_dict())
    other_z = other.condition(batch.states, batch.goals["actor"])
    assert (learner.actor(batch.states, z) == other.actor(batch.states, other_z)).all()


@pytest.mark.parametrize("name", ["gcivl", "gciql", "gcdl"])
def test_targets_follow_slowly(name: str) -> None:
    learner = make(name, target_rate=0.9)
    online = learner.critic if name == "gciql" else learner.value
    target = learner.target_critic if name == "gciql" else learner.target_value
    before = [p.clone() for p in target.parameters()]
    with torch.no_grad():
        for p in online.parameters():
            p.add_(1.0)
    learner.after_step()
    for was, now in zip(before, target.parameters(), strict=True):
        torch.testing.assert_close(now, was + 0.1)
        assert not now.requires_grad


def test_an_ensemble_is_its_members() -> None:
    learner, batch = make("gciql"), make_batch()
    z = learner.condition(batch.states, batch.goals["value"])
    both = learner.value(batch.states, z)
    assert both.shape == (2, SIZE)
    for member in range(2):
        expected = alone(learner.value, member, batch.states, z)[:, 0]
        torch.testing.assert_close(both[member], expected, rtol=1e-4, atol=1e-5)
    assert (both[0] != both[1]).any()
    means = learner.actor(batch.states, z)
    torch.testing.assert_close(
        means, alone(learner.actor, 0, batch.states, z), rtol=1e-4, atol=1e-5
    )


def test_frozen_passes_gradients_through_and_takes_none() -> None:
    learner, batch = make("gciql"), make_batch()
    z = learner.condition(batch.states, batch.goals["value"]).detach()
    pairs = torch.cat([batch.states, batch.actions], -1).requires_grad_()
    learner.critic(pairs, z, frozen=True).sum().backward()
    assert pairs.grad is not None
    assert all(p.grad is None for p in learner.critic.parameters())
    warm = torch.autograd.grad(learner.critic(pairs, z).sum(), pairs)[0]
    torch.testing.assert_close(pairs.grad, warm)
