"""Putting a run together: sampler, conditioner and learner out of a configuration and data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from goalsets.condition import FullConditioner, GoalSetConditioner, TaskConditioner
from goalsets.core import Query, StateLayout
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories
from goalsets.learners import LEARNERS, Learner, Problem
from goalsets.relabel.goals import GoalSampler
from goalsets.relabel.labels import IdentityLabels, Labels, PredicateLabels, TermLabels
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS
from goalsets.relabel.sampler import Batch, Generators, Sampler
from goalsets.train.config import SCHEMES, TrainConfig

_BANK = 1024
"""States kept with a policy whose fill is drawn from the data."""


@dataclass(frozen=True)
class Frame:
    """What a policy needs to know of its data, and nothing of the data itself."""

    layout: StateLayout
    normaliser: Normaliser
    horizon: int
    """H_max."""


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


def make_sampler(config: TrainConfig, frame: Frame, data: Trajectories) -> Sampler:
    """Create the sampler over standardised trajectories."""
    mixture = LEARNERS[config.learner].value_mixture
    return Sampler(
        trajectories=data,
        layout=frame.layout,
        queries=QUERY_DISTRIBUTIONS[SCHEMES[config.scheme].queries](),
        value_goals=None if mixture is None else GoalSampler(*mixture, horizon=frame.horizon),
        actor_goals=GoalSampler(0.0, 1.0, 0.0, horizon=frame.horizon),
        labels=_make_labels(config, frame),
    )


def draw_held_out(
    config: TrainConfig, frame: Frame, held_out: Trajectories, size: int = 2048
) -> Batch | None:
    """Draw relabeled transitions from episodes that are not trained on, if there are any.

    They are drawn once: what changes in their metrics is then the learner.
    """
    if held_out.num_transitions < 1:
        return None
    sampler = make_sampler(config, frame, frame.normaliser.apply(held_out))
    return sampler.sample(size, Generators.from_seed(config.seed))


def draw_bank(config: TrainConfig, data: Trajectories) -> torch.Tensor | None:
    """Draw the states that a random fill is taken from, if that is what is asked for."""
    if config.fill != "random":
        return None
    rng = np.random.default_rng((config.seed, 2))
    return torch.from_numpy(data.observations[data.draw_states(_BANK, rng)])


def placeholder_bank(config: TrainConfig, frame: Frame) -> torch.Tensor | None:
    """Room for a bank that a checkpoint will fill."""
    return None if config.fill != "random" else torch.zeros(_BANK, frame.layout.dim)


def _make_conditioner(
    config: TrainConfig, layout: StateLayout, bank: torch.Tensor | None
) -> nn.Module:
    kind = SCHEMES[config.scheme].conditioning
    if kind == "full":
        return FullConditioner(layout.dim)
    if kind == "task":
        return TaskConditioner(Query.parse("task", layout).indices)
    return GoalSetConditioner(layout.dim, config.fill, bank)


def _make_labels(config: TrainConfig, frame: Frame) -> Labels:
    if config.labels == "identity":
        return IdentityLabels()
    if config.labels == "terms":
        normaliser = frame.normaliser
        return TermLabels(frame.layout, normaliser.state_mean, normaliser.state_std)
    return PredicateLabels(config.epsilon)


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
