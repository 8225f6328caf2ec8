"""Functions that value learners share: targets, the witness, expectiles, advantage weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from goalsets.relabel.batch import Goals


def value_of_steps(steps: Tensor, discount: float) -> Tensor:
    """The value of reaching a goal in k steps at −1 each: −(1 − γᵏ) / (1 − γ)."""
    if discount == 1.0:
        return -steps
    return -(1.0 - discount**steps) / (1.0 - discount)


def steps_of_value(values: Tensor, discount: float) -> Tensor:
    """The number of steps that a value corresponds to: log(1 + V (1 − γ)) / log γ."""
    if discount == 1.0:
        return -values
    inside = torch.clamp(1.0 + values * (1.0 - discount), 1e-6, 1.0)
    return torch.log(inside) / math.log(discount)


def backed_up(goals: Goals[Tensor], next_values: Tensor, cost: float, discount: float) -> Tensor:
    """The one-step target under the goals' labels, `[..., B]`.

        y = 0                        if s_t is at the goal,
        y = cost                     if s_{t+1} is,
        y = cost + γ V̄(s_{t+1})      otherwise.

    Args:
        goals: The goals with their labels.
        next_values: `[..., B]`, V̄(s_{t+1}).
        cost: The (negative) reward of a step.
        discount: γ.
    """
    after = torch.where(goals.next_at_goal, 0.0, discount * next_values)
    return torch.where(goals.at_goal, 0.0, cost + after)


def raise_to_witness(targets: Tensor, goals: Goals[Tensor], witnessed: Tensor) -> Tensor:
    """Raise targets to what the data itself has reached: the *witness*.

    The data reached a goal k steps ahead on the same trajectory in k steps. So its value is at
    least that of k steps.

    Args:
        targets: `[..., B]`.
        goals: The goals with their steps; steps are negative if a goal is not ahead.
        witnessed: `[B]`, the value of those steps.
    """
    ahead = goals.steps >= 0
    return torch.where(ahead, torch.maximum(targets, witnessed), targets)


def expectile(advantages: Tensor, errors: Tensor, level: float) -> Tensor:
    """Asymmetric squared errors: |τ − 1(advantage < 0)| · error²."""
    return torch.where(advantages >= 0, level, 1.0 - level) * errors.square()


def advantage_weights(advantages: Tensor, temperature: float, largest: float) -> Tensor:
    """exp(α · advantage), at most `largest`, without a gradient."""
    return torch.exp(temperature * advantages.detach()).clamp(max=largest)


def softplus_inverse(value: float) -> float:
    """The number whose softplus is `value`."""
    if value <= 0:
        raise ValueError(f"a softplus is always above 0, so it cannot be {value}.")
    return value + float(torch.log(-torch.expm1(torch.tensor(-value, dtype=torch.float64))))
