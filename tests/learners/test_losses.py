"""Losses against independent computations, and targets against cases worked by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from goalsets.condition import GoalSetConditioner
from goalsets.learners import LEARNERS, BatchTensors, GoalTensors, Learner, Problem
from goalsets.learners.crl import contrast
from goalsets.learners.values import (
    backed_up,
    expectile,
    raise_to_witness,
    softplus_inverse,
    steps_of_value,
    value_of_steps,
)

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


# --- The contract, over the registry ---


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


# --- Networks ---


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


# --- Targets by hand ---


def small_batch(at_goal: list[bool], next_at_goal: list[bool], steps: list[int]) -> BatchTensors:
    batch = make_batch()
    count = len(steps)
    goals = GoalTensors(torch.zeros(count, DIM), torch.ones(count, DIM).bool(), torch.tensor(steps))
    fields = {**vars(batch), "value_goals": goals}
    fields["at_goal"], fields["next_at_goal"] = torch.tensor(at_goal), torch.tensor(next_at_goal)
    return BatchTensors(**fields)


def test_backed_up_targets() -> None:
    """Already at the goal; the next state is; both; neither."""
    batch = small_batch([True, False, True, False], [False, True, True, False], [0, 1, 0, -1])
    targets = backed_up(batch, torch.tensor([-9.0, -9.0, -9.0, -9.0]), cost=-1.0, discount=0.9)
    torch.testing.assert_close(targets, torch.tensor([0.0, -1.0, 0.0, -1.0 - 8.1]))


def test_witness_raises_only_goals_ahead() -> None:
    batch = small_batch([False] * 3, [False] * 3, [3, 3, -1])
    witnessed = value_of_steps(batch.value_goals.steps.float(), 0.9)
    assert witnessed[0] == pytest.approx(-(1 + 0.9 + 0.81))
    raised = raise_to_witness(torch.tensor([-9.0, -1.0, -9.0]), batch, witnessed)
    torch.testing.assert_close(raised, torch.tensor([-2.71, -1.0, -9.0]))


@pytest.mark.parametrize("discount", [0.99, 1.0])
def test_steps_and_values_are_inverse(discount: float) -> None:
    steps = torch.tensor([0.0, 1.0, 7.0, 120.0])
    back = steps_of_value(value_of_steps(steps, discount), discount)
    torch.testing.assert_close(back, steps, rtol=1e-3, atol=1e-3)


def test_expectile_is_asymmetric() -> None:
    found = expectile(torch.tensor([1.0, -1.0]), torch.tensor([2.0, 2.0]), 0.9)
    torch.testing.assert_close(found, torch.tensor([0.9 * 4, 0.1 * 4]))


@pytest.mark.parametrize("value", [0.01, 0.7, 60.0])
def test_softplus_inverse(value: float) -> None:
    x = torch.tensor(softplus_inverse(value))
    assert F.softplus(x).item() == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize(("name", "start"), [("gcivl", -60.0), ("gciql", -60.0), ("gcdl", -0.9)])
def test_a_pessimistic_start_is_where_it_should_be(name: str, start: float) -> None:
    learner, batch = make(name, initial_value=start), make_batch()
    z = learner.condition(batch.states, batch.value_goals)
    raw = learner.value(batch.states, z)
    values = -torch.sigmoid(raw) if name == "gcdl" else -F.softplus(raw)
    assert values.mean().item() == pytest.approx(start, rel=0.05)


# --- Losses written out again ---


def test_gcbc_loss() -> None:
    learner, batch = make("gcbc"), make_batch()
    z = learner.condition(batch.states, batch.actor_goals)
    normal = torch.distributions.Normal(learner.actor(batch.states, z), 1.0)
    expected = -normal.log_prob(batch.actions).sum(-1).mean()
    torch.testing.assert_close(learner.losses(batch)[0], expected)


@pytest.mark.parametrize("witness", [False, True])
def test_gcivl_losses(witness: bool) -> None:
    learner, batch = make("gcivl", alpha=2.0, witness=witness, initial_value=-5.0), make_batch()
    goals = batch.value_goals
    z, nz = (learner.condition(s, goals) for s in (batch.states, batch.next_states))
    bar = [-F.softplus(alone(learner.target_value, j, batch.next_states, nz)[:, 0]) for j in (0, 1)]
    y = [torch.where(batch.next_at_goal, -torch.ones(SIZE), -1 + 0.99 * b) for b in bar]
    y = [torch.where(batch.at_goal, torch.zeros(SIZE), x) for x in y]
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

    goals = batch.actor_goals
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
    goals, pairs = batch.value_goals, torch.cat([batch.states, batch.actions], -1)
    z, nz = (learner.condition(s, goals) for s in (batch.states, batch.next_states))
    q_bar = torch.minimum(*(alone(learner.target_critic, j, pairs, z)[:, 0] for j in (0, 1)))
    v = [-F.softplus(alone(learner.value, j, batch.states, z)[:, 0]) for j in (0, 1)]
    expected = 0
    for j in (0, 1):
        a = q_bar - v[j]
        expected = expected + 0.5 * (((a >= 0).float() * 0.8 + 0.1) * a**2).mean()
    torch.testing.assert_close(learner.value_loss(batch, z)[0], expected, rtol=1e-4, atol=1e-5)

    nv = sum(-F.softplus(alone(learner.value, j, batch.next_states, nz)[:, 0]) for j in (0, 1)) / 2
    y = torch.where(batch.next_at_goal, -torch.ones(SIZE), -1 + 0.99 * nv)
    y = torch.where(batch.at_goal, torch.zeros(SIZE), y)
    floor = -(1 - 0.99**goals.steps) / 0.01
    y = torch.where(goals.steps >= 0, torch.maximum(y, floor), y).detach()
    q = [alone(learner.critic, j, pairs, z)[:, 0] for j in (0, 1)]
    expected = sum(((q[j] - y) ** 2).mean() for j in (0, 1))
    torch.testing.assert_close(learner.critic_loss(batch, z)[0], expected, rtol=1e-4, atol=1e-5)

    z = learner.condition(batch.states, batch.actor_goals)
    mean = learner.actor(batch.states, z)
    taken = torch.cat([batch.states, mean.clamp(-1.5, 1.5)], -1)
    score = torch.minimum(*(alone(learner.critic, j, taken, z)[:, 0] for j in (0, 1)))
    log = torch.distributions.Normal(mean, 1.0).log_prob(batch.actions).sum(-1)
    expected = -score.mean() / (score.abs().mean() + 1e-6).detach() - 0.3 * log.mean()
    torch.testing.assert_close(learner.actor_loss(batch)[0], expected, rtol=1e-4, atol=1e-5)


def test_gciql_by_advantage() -> None:
    learner, batch = make("gciql", extraction="awr", alpha=0.5), make_batch()
    z = learner.condition(batch.states, batch.actor_goals)
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
    goals = batch.value_goals
    z, nz = (learner.condition(s, goals) for s in (batch.states, batch.next_states))
    bar = [
        -torch.sigmoid(alone(learner.target_value, j, batch.next_states, nz)[:, 0]) for j in (0, 1)
    ]
    delta = -1 / HORIZON
    y = torch.where(batch.next_at_goal, torch.full((SIZE,), delta), delta + torch.minimum(*bar))
    y = torch.where(batch.at_goal, torch.zeros(SIZE), y)
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
    reached = ~batch.at_goal
    torch.testing.assert_close(targets[reached], torch.full_like(targets[reached], -1 / HORIZON))


def test_contrast_is_binary_cross_entropy_over_all_pairs() -> None:
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
        here = learner.encode_goals(batch.states, batch.value_goals)
        there = learner.encode_goals(batch.next_states, batch.value_goals)
        assert (here == there).all() != told
