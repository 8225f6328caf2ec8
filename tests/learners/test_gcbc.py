"""GCBC: what its discount does to the imitation of short ways and detours."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from goalsets import GoalsetsError
from goalsets.condition import FullConditioner
from goalsets.learners import Problem
from goalsets.learners.gcbc import GCBC, GCBCConfig
from goalsets.relabel.batch import ACTOR, Batch, Goals


def make(discount: float) -> GCBC:
    torch.manual_seed(0)
    ones = torch.ones(1)
    problem = Problem(2, 1, 10, -ones, ones, hidden=32)
    return GCBC(problem, FullConditioner(2), GCBCConfig(discount))


def conflict(steps: tuple[int, int]) -> Batch[torch.Tensor]:
    """One state and one goal, and two actions that the data took there, steps before arriving."""
    states = torch.zeros(2, 2)
    masks = torch.ones(2, 2, dtype=torch.bool)
    goals = Goals(torch.ones(2, 2), masks, torch.tensor(steps))
    return Batch(states, torch.tensor([[1.0], [-1.0]]), states, {ACTOR: goals})


def learned(discount: float, steps: tuple[int, int]) -> float:
    learner = make(discount)
    optimiser = torch.optim.Adam(learner.parameters(), lr=1e-2)
    for _ in range(150):
        loss, _ = learner.losses(conflict(steps))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    batch = conflict(steps)
    goals = batch.goals[ACTOR]
    return float(learner.decide(batch.states, goals.references, goals.masks)[0, 0].detach())


def test_short_ways_win_over_detours() -> None:
    assert learned(1.0, (10, 70)) == pytest.approx(0.0, abs=0.02)
    # Weights 1 and 0.97^60 of the actions 1 and −1.
    far = 0.97**60
    assert learned(0.97, (10, 70)) == pytest.approx((1 - far) / (1 + far), abs=0.02)


def test_weights_keep_the_size_of_the_loss() -> None:
    plain, weighted = (float(make(d).losses(conflict((40, 40)))[0].detach()) for d in (1.0, 0.9))
    assert weighted == pytest.approx(plain, rel=1e-5)
    elsewhere = conflict((-1, 5))  # a goal of another trajectory counts as one that is here
    assert make(0.9).losses(elsewhere)[0].isfinite()


@pytest.mark.parametrize("discount", [0.0, -0.5, 1.01])
def test_a_discount_is_a_share(discount: float) -> None:
    with pytest.raises(GoalsetsError, match=f"of at least 0.001 and up to 1, got {discount}"):
        dataclasses.replace(GCBCConfig(), discount=discount)
