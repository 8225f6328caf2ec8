"""Conditioning: what each scheme shows a network, and what it hides."""

from __future__ import annotations

import pytest
import torch

from goalsets import GoalsetsError
from goalsets.condition import FullConditioner, GoalSetConditioner, TaskConditioner

torch.manual_seed(0)
STATES, GOALS = torch.randn(2, 6, 5)
MASKS = torch.rand(6, 5) < 0.5
ALL = torch.ones(6, 5, dtype=torch.bool)
MAKERS = {
    "full": lambda: FullConditioner(5),
    "task": lambda: TaskConditioner([1, 3]),
    "learned": lambda: GoalSetConditioner(5, "learned"),
    "zero": lambda: GoalSetConditioner(5, "zero"),
    "random": lambda: GoalSetConditioner(5, "random", bank=torch.randn(20, 5)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_dimensions(name: str) -> None:
    conditioner = MAKERS[name]()
    assert conditioner(STATES, GOALS, MASKS).shape == (6, conditioner.dim)
    assert conditioner.goal_input(GOALS, MASKS).shape == (6, conditioner.goal_dim)


@pytest.mark.parametrize("fill", ["learned", "zero", "random"])
def test_all_ones_is_full_state_conditioning(fill: str) -> None:
    full = FullConditioner(5)(STATES, GOALS, ALL)
    shown = MAKERS[fill]()(STATES, GOALS, ALL)
    torch.testing.assert_close(shown[:, :10], full, rtol=0, atol=0)
    assert (shown[:, 10:] == 1).all()


@pytest.mark.parametrize("fill", ["learned", "zero", "random"])
def test_inactive_coordinates_are_hidden(fill: str) -> None:
    conditioner = MAKERS[fill]().eval()
    hidden = torch.where(MASKS, STATES, torch.nan), torch.where(MASKS, GOALS, torch.nan)
    torch.testing.assert_close(
        conditioner(*hidden, MASKS), conditioner(STATES, GOALS, MASKS), rtol=0, atol=0
    )
    assert conditioner(*hidden, MASKS).isfinite().all()


def test_active_coordinates_are_shown_as_they_are() -> None:
    shown = GoalSetConditioner(5)(STATES, GOALS, MASKS)
    state, goal, query = shown.split(5, dim=1)
    assert (state[MASKS] == STATES[MASKS]).all()
    assert (goal[MASKS] == GOALS[MASKS]).all()
    assert (query == MASKS.float()).all()


def test_task_projection_ignores_the_query() -> None:
    conditioner = TaskConditioner([1, 3])
    expected = torch.cat([STATES[:, [1, 3]], GOALS[:, [1, 3]]], dim=1)
    for masks in (MASKS, ALL):
        torch.testing.assert_close(conditioner(STATES, GOALS, masks), expected)


def test_only_learned_fills_learn() -> None:
    learned = GoalSetConditioner(5, "learned")
    learned(STATES, GOALS, MASKS).sum().backward()
    assert learned.fills.grad is not None
    assert (learned.fills.grad[0] == (~MASKS).sum(0)).all()
    for fill in ("zero", "random"):
        assert not any(p.requires_grad for p in MAKERS[fill]().parameters())


def test_random_fill_draws_in_training_and_is_fixed_otherwise() -> None:
    conditioner = MAKERS["random"]()
    torch.manual_seed(0)
    assert (conditioner(STATES, GOALS, MASKS) != conditioner(STATES, GOALS, MASKS)).any()
    conditioner.eval()
    assert (conditioner(STATES, GOALS, MASKS) == conditioner(STATES, GOALS, MASKS)).all()


def test_errors() -> None:
    with pytest.raises(GoalsetsError, match="at least one coordinate"):
        TaskConditioner([])
    with pytest.raises(GoalsetsError, match=r"draws from states \[N, 5\], got None"):
        GoalSetConditioner(5, "random")
    with pytest.raises(GoalsetsError, match=r"got \[20, 4\]"):
        GoalSetConditioner(5, "random", bank=torch.zeros(20, 4))
