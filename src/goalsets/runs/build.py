"""Putting a learner together out of a configuration and a frame."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from goalsets.condition import FullConditioner, GoalSetConditioner, TaskConditioner
from goalsets.core import Query, StateLayout
from goalsets.data.normaliser import Normaliser
from goalsets.learners import LEARNERS, Learner, Problem
from goalsets.relabel.queries import SCHEMES
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame

BANK_STATES = 1024
"""States kept with a policy whose fill is drawn from the data."""


def make_learner(config: TrainConfig, frame: Frame, bank: torch.Tensor | None = None) -> Learner:
    """Create the learner with fresh weights from the configuration's seed.

    Args:
        config: The run.
        frame: What is known of the data.
        bank: `[N, D]`, standardised states for a random fill.
    """
    # Weights are the only thing drawn from torch's global generator, and only here.
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        conditioner = _make_conditioner(config, frame.layout, bank)
        low, high = _action_bounds(config, frame.normaliser)
        problem = Problem(
            state_dim=frame.layout.dim,
            action_dim=len(frame.normaliser.action_mean),
            horizon=frame.horizon,
            action_low=low,
            action_high=high,
            hidden=config.hidden,
        )
        return LEARNERS[config.learner](problem, conditioner, config.learner_config())


def placeholder_bank(config: TrainConfig, frame: Frame) -> torch.Tensor | None:
    """Room for a bank that a checkpoint will fill."""
    return None if config.fill != "random" else torch.zeros(BANK_STATES, frame.layout.dim)


def _make_conditioner(
    config: TrainConfig, layout: StateLayout, bank: torch.Tensor | None
) -> nn.Module:
    kind = SCHEMES[config.scheme].conditioning
    if kind == "full":
        return FullConditioner(layout.dim)
    if kind == "task":
        return TaskConditioner(Query.parse("task", layout).indices)
    return GoalSetConditioner(layout.dim, config.fill, bank)


def _action_bounds(
    config: TrainConfig, normaliser: Normaliser
) -> tuple[torch.Tensor, torch.Tensor]:
    ones = np.ones_like(normaliser.action_mean)
    if config.clamp == "environment":
        return (
            torch.from_numpy(normaliser.actions(-ones)),
            torch.from_numpy(normaliser.actions(ones)),
        )
    return torch.from_numpy(-ones), torch.from_numpy(ones)
