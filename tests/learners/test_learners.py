"""What every learner keeps to, and the networks they stand on."""

from __future__ import annotations

import pytest
import torch

from goalsets.condition import GoalSetConditioner
from goalsets.learners import LEARNERS, TARGET, Learner
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
    z = learner.condition(batch.states, batch.actor_goals)
    other.load_state_dict(learner.state_dict())
    other_z = other.condition(batch.states, batch.actor_goals)
    assert (learner.actor(batch.states, z) == other.actor(batch.states, other_z)).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_distance_is_a_number_for_each_state_and_follows_the_goal(name: str) -> None:
    """Some learners tell none: they say so by None, whatever they are asked."""
    learner, batch = make(name).eval(), make_batch()
    asked = [learner.condition(batch.states, g) for g in (batch.value_goals, batch.actor_goals)]
    first, second = (learner.distance(batch.states, z) for z in asked)
    if type(learner).distance is Learner.distance:
        assert first is second is None
        return
    assert first.shape == (SIZE,)
    assert first.isfinite().all()
    assert (first != second).any()
    alone = learner.distance(batch.states[3:4], asked[0][3:4])
    torch.testing.assert_close(alone, first[3:4], rtol=1e-4, atol=1e-4)


def targets_of(learner: Learner) -> list[str]:
    return [name for name, _ in learner.named_children() if name.startswith(TARGET)]


WITH_TARGETS = [name for name in LEARNERS if targets_of(make(name))]


def test_some_learners_have_targets() -> None:
    assert WITH_TARGETS, "the next test would look at nothing"


@pytest.mark.parametrize("name", WITH_TARGETS)
def test_targets_begin_at_their_networks_and_follow_slowly(name: str) -> None:
    learner = make(name, target_rate=0.9)
    for target_name in targets_of(learner):
        target = learner.get_submodule(target_name)
        online = learner.get_submodule(target_name.removeprefix(TARGET))
        before = {key: value.clone() for key, value in target.named_parameters()}
        for key, value in online.named_parameters():
            assert torch.equal(before[key], value)
            with torch.no_grad():
                value.add_(1.0)
        learner.after_step()
        for key, now in target.named_parameters():
            torch.testing.assert_close(now, before[key] + 0.1)
            assert not now.requires_grad


def test_an_ensemble_is_its_members() -> None:
    learner, batch = make("gciql"), make_batch()
    z = learner.condition(batch.states, batch.value_goals)
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
    z = learner.condition(batch.states, batch.value_goals).detach()
    pairs = torch.cat([batch.states, batch.actions], -1).requires_grad_()
    learner.critic(pairs, z, frozen=True).sum().backward()
    assert pairs.grad is not None
    assert all(p.grad is None for p in learner.critic.parameters())
    warm = torch.autograd.grad(learner.critic(pairs, z).sum(), pairs)[0]
    torch.testing.assert_close(pairs.grad, warm)
