"""What every learner keeps to, and the networks they stand on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from goalsets.condition import GoalSetConditioner
from goalsets.learners import LEARNERS, TARGET, Learner
from tests.learners.small import ACTIONS, DIM, SIZE, alone, batch_for, make, make_batch


def asked_of(learner: Learner, seed: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, goals and masks to ask a learner with."""
    rng = np.random.default_rng(seed)
    states, goals = rng.standard_normal((2, SIZE, DIM)).astype(np.float32)
    masks = rng.random((SIZE, DIM)) < 0.6
    masks[:, 0] = True
    return states, goals, masks


@pytest.mark.parametrize("name", LEARNERS)
def test_losses_are_finite_and_gradients_reach_everything(name: str) -> None:
    learner = make(name)
    loss, metrics = learner.losses(batch_for(learner))
    loss.backward()
    assert loss.isfinite()
    assert all(value.isfinite() and not value.requires_grad for value in metrics.values())
    for parameter_name, parameter in learner.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, f"no gradient reaches {parameter_name}"
            assert parameter.grad.abs().sum() > 0, f"the gradient of {parameter_name} is zero"


@pytest.mark.parametrize("name", LEARNERS)
def test_every_trained_parameter_is_optimised_once(name: str) -> None:
    learner = make(name)
    grouped = [id(p) for group in learner.parameter_groups() for p in group.parameters]
    assert len(grouped) == len(set(grouped))
    assert set(grouped) == {id(p) for p in learner.parameters() if p.requires_grad}


@pytest.mark.parametrize("name", LEARNERS)
def test_saving_and_loading_gives_equal_actions(name: str) -> None:
    learner = make(name)
    torch.manual_seed(99)
    other = LEARNERS[name](learner.problem, GoalSetConditioner(DIM), learner.config)
    other.load_state_dict(learner.state_dict())
    for each in (learner, other):
        each.prepare()
    asked = asked_of(learner)
    assert (learner.act(*asked) == other.act(*asked)).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_one_state_is_answered_as_many_are(name: str) -> None:
    learner = make(name)
    learner.prepare()
    asked = asked_of(learner)
    many = learner.act(*asked, memory=learner.reset())
    assert many.shape == (SIZE, ACTIONS)
    assert np.isfinite(many).all()
    for row in range(5):
        alone = learner.act(*(part[row] for part in asked), memory=learner.reset())
        np.testing.assert_allclose(alone, many[row], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LEARNERS)
def test_decisions_are_as_many_actions_as_declared(name: str) -> None:
    learner = make(name)
    learner.prepare()
    tensors = [torch.from_numpy(part) for part in asked_of(learner)]
    decided = learner.decide(*tensors)
    chunk = () if learner.chunk == 1 else (learner.chunk,)
    assert decided.shape == (SIZE, *chunk, ACTIONS)
    assert 1 <= learner.executed <= learner.chunk
    assert (decided == learner.decide(*tensors)).all(), "without a generator nothing is drawn"
    assert (learner.reset() is None) == (learner.chunk == 1)


@pytest.mark.parametrize("name", LEARNERS)
def test_another_question_gets_another_action_at_once(name: str) -> None:
    """Whatever was decided before: a memory must not outlive its question."""
    learner = make(name)
    learner.prepare()
    states, goals, masks = asked_of(learner)
    memory = learner.reset()
    learner.act(states, goals, masks, memory=memory)
    fresh = learner.act(states, goals[::-1].copy(), masks)
    np.testing.assert_array_equal(
        learner.act(states, goals[::-1].copy(), masks, memory=memory), fresh
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_a_distance_is_a_number_for_each_state_and_follows_the_goal(name: str) -> None:
    """Learners that tell none declare no unit."""
    learner = make(name)
    learner.prepare()
    states, goals, masks = (torch.from_numpy(part) for part in asked_of(learner))
    if learner.distance_unit is None:
        with pytest.raises(NotImplementedError, match="declares no distance_unit"):
            learner.distance(states, goals, masks)
        return
    first = learner.distance(states, goals, masks)
    assert first.shape == (SIZE,)
    assert first.isfinite().all()
    assert (first != learner.distance(states, goals.flip(0), masks)).any()
    alone = learner.distance(states[3:4], goals[3:4], masks[3:4])
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
