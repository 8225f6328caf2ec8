"""What every learner keeps to, and the networks they stand on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from goalsets.learners import LEARNERS, TARGET, Learner
from goalsets.testing.learners import CHECKS
from tests.learners.small import SIZE, alone, make, make_batch


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)


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
