"""Builds a learner from a configuration and a frame."""

from __future__ import annotations

import torch

from goalsets.condition import (
    CONDITIONERS,
    INPUTS,
    Conditioner,
    GoalSetConditioner,
    RelationalConditioner,
)
from goalsets.learners import LEARNERS, Learner, Problem
from goalsets.relabel.queries import SCHEMES
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame

BANK_STATES = 1024
"""The number of states that are stored with a policy with a random fill."""


def make_learner(config: TrainConfig, frame: Frame, bank: torch.Tensor | None = None) -> Learner:
    """Create the learner with initial weights from the configuration's seed.

    Args:
        config: The run.
        frame: The frame of the data.
        bank: `[N, D]`, standardised states for a random fill.
    """
    # Only weights are drawn from torch's global generator, and only here.
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        conditioner = _make_conditioner(config, frame, bank)
        low, high = _action_bounds(config, frame)
        problem = Problem(
            state_dim=frame.layout.dim,
            action_dim=len(frame.normaliser.action_mean),
            horizon=frame.horizon,
            action_low=low,
            action_high=high,
            hidden=config.hidden,
        )
        return LEARNERS[config.learner](problem, conditioner, config.learner_config())


def _make_conditioner(config: TrainConfig, frame: Frame, bank: torch.Tensor | None) -> Conditioner:
    """The conditioner of the scheme, with the goal inputs of the configuration."""
    layout, relations = frame.layout, INPUTS[config.inputs]
    base = CONDITIONERS[SCHEMES[config.scheme].conditioning].make(layout, config.fill, bank)
    if relations is None:
        return base
    if not isinstance(base, GoalSetConditioner):
        slots = GoalSetConditioner(layout.dim, config.fill, bank)
    else:
        slots = base
    return RelationalConditioner(base, layout, frame.normaliser, relations, slots)


def placeholder_bank(config: TrainConfig, frame: Frame) -> torch.Tensor | None:
    """An empty bank, which a checkpoint fills later."""
    return None if config.fill != "random" else torch.zeros(BANK_STATES, frame.layout.dim)


def _action_bounds(config: TrainConfig, frame: Frame) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest and largest actions, standardised."""
    if config.clamp == "environment":
        actions = frame.normaliser.actions
        return torch.from_numpy(actions(frame.bounds.low)), torch.from_numpy(
            actions(frame.bounds.high)
        )
    ones = torch.ones(len(frame.normaliser.action_mean))
    return -ones, ones
