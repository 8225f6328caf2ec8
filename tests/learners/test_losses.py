"""Losses against independent computations."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from goalsets.learners import crl
from goalsets.learners.crl import contrast
from tests.learners.small import HORIZON, SIZE, alone, make, make_batch


def test_gcbc_loss() -> None:
    learner, batch = make("gcbc"), make_batch()
    z = learner.condition(batch.states, batch.goals["actor"])
    normal = torch.distributions.Normal(learner.actor(batch.states, z), 1.0)
    expected = -normal.log_prob(batch.actions).sum(-1).mean()
    torch.testing.assert_close(learner.losses(batch)[0], expected)


@pytest.mark.parametrize("witness", [False, True])
def test_gcivl_losses(witness: bool) -> None:
    learner, batch = make("gcivl", alpha=2.0, witness=witness, initial_value=-5.0), make_batch()
    goals = batch.goals["value"]
    z, nz = (learner.condition(s, goals) for s in (batch.states, batch.next_states))
    bar = [-F.softplus(alone(learner.target_value, j, batch.next_states, nz)[:, 0]) for j in (0, 1)]
    y = [torch.where(goals.next_at_goal, -torch.ones(SIZE), -1 + 0.99 * b) for b in bar]
    y = [torch.where(goals.at_goal, torch.zeros(SIZE), x) for x in y]
    if witness:
        k = goals.steps
        floor = -(1 - 0.99**k) / 0.01
        y = [torch.where(k >= 0, torch.maximum(x, floor), x) for x in y]
    now = (
        sum(-F.softplus(alone(learner.target_value, j, batch.states, z)[:, 0]) for j in (0, 1)) / 2
    )
    advantage = torch.minimum(*y) - now
    weight = (advantage >= 0).float() * 0.8 + 0.1
    v = [-F.softplus(alone(learner.value, j, batch.states, z)[:, 0]) for j in (0, 1)]
    expected = sum((weight * (y[j] - v[j]) ** 2).mean() for j in (0, 1))
    torch.testing.assert_close(learner.value_loss(batch)[0], expected, rtol=1e-4, atol=1e-5)

    goals = batch.goals["actor"]
    z, nz = (learner.condition(s, goals) for s in (batch.states, batch.next_states))

    def mean_value(s, c):
        return sum(-F.softplus(alone(learner.value, j, s, c)[:, 0]) for j in (0, 1)) / 2

    advantage = mean_value(batch.next_states, nz) - mean_value(batch.states, z)
    weight = torch.exp(2.0 * advantage).clamp(max=100.0).detach()
    log = torch.distributions.Normal(learner.actor(batch.states, z), 1.0).log_prob(batch.actions)
    expected = -(weight * log.sum(-1)).mean()
    torch.testing.assert_close(learner.actor_loss(batch)[0], expected, rtol=1e-4, atol=1e-5)


def test_gciql_losses() -> None:
    learner, batch = make("gciql", alpha=0.3, witness=True, initial_value=-5.0), make_batch()
    goals, pairs = batch.goals["value"], torch.cat([batch.states, batch.actions], -1)
    z, nz = (learner.condition(s, goals) for s in (batch.states, batch.next_states))
    q_bar = torch.minimum(*(alone(learner.target_critic, j, pairs, z)[:, 0] for j in (0, 1)))
    v = [-F.softplus(alone(learner.value, j, batch.states, z)[:, 0]) for j in (0, 1)]
    expected = 0
    for j in (0, 1):
        a = q_bar - v[j]
        expected = expected + 0.5 * (((a >= 0).float() * 0.8 + 0.1) * a**2).mean()
    torch.testing.assert_close(learner.value_loss(batch, z)[0], expected, rtol=1e-4, atol=1e-5)

    nv = sum(-F.softplus(alone(learner.value, j, batch.next_states, nz)[:, 0]) for j in (0, 1)) / 2
    y = torch.where(goals.next_at_goal, -torch.ones(SIZE), -1 + 0.99 * nv)
    y = torch.where(goals.at_goal, torch.zeros(SIZE), y)
    floor = -(1 - 0.99**goals.steps) / 0.01
    y = torch.where(goals.steps >= 0, torch.maximum(y, floor), y).detach()
    q = [alone(learner.critic, j, pairs, z)[:, 0] for j in (0, 1)]
    expected = sum(((q[j] - y) ** 2).mean() for j in (0, 1))
    torch.testing.assert_close(learner.critic_loss(batch, z)[0], expected, rtol=1e-4, atol=1e-5)

    z = learner.condition(batch.states, batch.goals["actor"])
    mean = learner.actor(batch.states, z)
    taken = torch.cat([batch.states, mean.clamp(-1.5, 1.5)], -1)
    score = torch.minimum(*(alone(learner.critic, j, taken, z)[:, 0] for j in (0, 1)))
    log = torch.distributions.Normal(mean, 1.0).log_prob(batch.actions).sum(-1)
    expected = -score.mean() / (score.abs().mean() + 1e-6).detach() - 0.3 * log.mean()
    torch.testing.assert_close(learner.actor_loss(batch)[0], expected, rtol=1e-4, atol=1e-5)


def test_gciql_by_advantage() -> None:
    learner, batch = make("gciql", extraction="awr", alpha=0.5), make_batch()
    z = learner.condition(batch.states, batch.goals["actor"])
    pairs = torch.cat([batch.states, batch.actions], -1)
    q = torch.minimum(*(alone(learner.critic, j, pairs, z)[:, 0] for j in (0, 1)))
    v = sum(-F.softplus(alone(learner.value, j, batch.states, z)[:, 0]) for j in (0, 1)) / 2
    weight = torch.exp(0.5 * (q - v)).clamp(max=100.0).detach()
    log = torch.distributions.Normal(learner.actor(batch.states, z), 1.0).log_prob(batch.actions)
    expected = -(weight * log.sum(-1)).mean()
    torch.testing.assert_close(learner.actor_loss(batch)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_gcdl_value_loss(loss: str) -> None:
    learner, batch = make("gcdl", loss=loss, witness=True), make_batch()
    goals = batch.goals["value"]
    z, nz = (learner.condition(s, goals) for s in (batch.states, batch.next_states))
    bar = [
        -torch.sigmoid(alone(learner.target_value, j, batch.next_states, nz)[:, 0]) for j in (0, 1)
    ]
    delta = -1 / HORIZON
    y = torch.where(
        batch.goals["value"].next_at_goal, torch.full((SIZE,), delta), delta + torch.minimum(*bar)
    )
    y = torch.where(goals.at_goal, torch.zeros(SIZE), y)
    y = torch.where(goals.steps >= 0, torch.maximum(y, goals.steps * delta), y).clamp(-1, 0)
    v = [-torch.sigmoid(alone(learner.value, j, batch.states, z)[:, 0]) for j in (0, 1)]
    if loss == "huber":
        expected = sum(F.smooth_l1_loss(v[j], y.detach()) for j in (0, 1))
    else:
        expected = sum(((v[j] - y.detach()) ** 2).mean() for j in (0, 1))
    torch.testing.assert_close(learner.value_loss(batch)[0], expected, rtol=1e-4, atol=1e-6)


def test_gcdl_targets_are_clipped() -> None:
    learner = make("gcdl", initial_value=-0.9999)
    targets = learner._targets(make_batch())
    assert targets.min() == -1.0
    assert targets.max() <= 0.0


def test_gcdl_bootstrapped_goal_test() -> None:
    """Where the target value says that the goal is within half a step, it counts as reached."""
    learner = make("gcdl", initial_value=-1e-4, bootstrapped_goal=True)
    batch = make_batch()
    targets = learner._targets(batch)
    reached = ~batch.goals["value"].at_goal
    torch.testing.assert_close(targets[reached], torch.full_like(targets[reached], -1 / HORIZON))


@pytest.mark.parametrize("rows", [40, 7])
def test_contrast_is_binary_cross_entropy_over_all_pairs(rows: int, monkeypatch) -> None:
    monkeypatch.setattr(crl, "_SLICE", 40 * rows)
    torch.manual_seed(0)
    phi, psi = torch.randn(2, 2, 40, 8).double().requires_grad_()
    loss, accuracy = contrast(phi, psi)
    scores = torch.einsum("eid,ekd->eik", phi, psi) / math.sqrt(8)
    truth = torch.eye(40).double().expand(2, 40, 40)
    expected = F.binary_cross_entropy_with_logits(scores, truth)
    torch.testing.assert_close(loss, expected)
    found = torch.autograd.grad(loss, (phi, psi))
    for left, right in zip(found, torch.autograd.grad(expected, (phi, psi)), strict=True):
        torch.testing.assert_close(left, right)
    share = (scores.argmax(-1) == torch.arange(40)).double().mean()
    assert accuracy.item() == pytest.approx(share.item())


def test_crl_sees_the_state_in_the_goal_only_if_told() -> None:
    batch = make_batch()
    for told in (False, True):
        learner = make("crl", state_in_goal=told)
        asked = (batch.goals["value"].references, batch.goals["value"].masks)
        here = learner.encode_goals(batch.states, *asked)
        there = learner.encode_goals(batch.next_states, *asked)
        assert (here == there).all() != told


def test_the_policies_of_hiql_weigh_by_the_value_that_is_learned() -> None:
    """Its advantages count steps, whatever the unit of the value's network."""
    learner = make("hiql", unit=20.0, initial_value=-60.0)
    batch = make_batch(spec=learner.batch_spec(learner.config))
    goals = batch.goals["actor"]
    values = learner._value(batch.states, learner.condition(batch.states, goals))
    assert values.mean().item() == pytest.approx(-60.0, rel=0.2)
