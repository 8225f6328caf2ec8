"""Targets against cases worked by hand."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from goalsets.learners import Goals
from goalsets.learners.values import (
    backed_up,
    expectile,
    raise_to_witness,
    softplus_inverse,
    steps_of_value,
    value_of_steps,
)
from tests.learners.small import DIM, make, make_batch


def small_goals(
    at_goal: list[bool], next_at_goal: list[bool], steps: list[int]
) -> Goals[torch.Tensor]:
    count = len(steps)
    labels = (torch.tensor(at_goal), torch.tensor(next_at_goal))
    return Goals(
        torch.zeros(count, DIM), torch.ones(count, DIM).bool(), torch.tensor(steps), labels
    )


def test_backed_up_targets() -> None:
    """Already at the goal; the next state is; both; neither."""
    goals = small_goals([True, False, True, False], [False, True, True, False], [0, 1, 0, -1])
    targets = backed_up(goals, torch.tensor([-9.0, -9.0, -9.0, -9.0]), cost=-1.0, discount=0.9)
    torch.testing.assert_close(targets, torch.tensor([0.0, -1.0, 0.0, -1.0 - 8.1]))


def test_witness_raises_only_goals_ahead() -> None:
    goals = small_goals([False] * 3, [False] * 3, [3, 3, -1])
    witnessed = value_of_steps(goals.steps.float(), 0.9)
    assert witnessed[0] == pytest.approx(-(1 + 0.9 + 0.81))
    raised = raise_to_witness(torch.tensor([-9.0, -1.0, -9.0]), goals, witnessed)
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
    z = learner.condition(batch.states, batch.goals["value"])
    raw = learner.value(batch.states, z)
    values = -torch.sigmoid(raw) if name == "gcdl" else -F.softplus(raw)
    assert values.mean().item() == pytest.approx(start, rel=0.05)
