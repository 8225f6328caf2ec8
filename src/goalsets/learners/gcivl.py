"""Goal-conditioned implicit value learning (GCIVL).

The value learns by expectile regression towards one-step targets, and the policy by
advantage-weighted regression (OGBench; paper, appendix E). With V̄ the slowly updated target and j
the two heads:

    y_j = 0 if s_t is at the goal, −1 if s_{t+1} is, else −1 + γ V̄_j(s_{t+1}, ψ')
    A   = min_j y_j − mean_j V̄_j(s_t, ψ)
    L_V = Σ_j E [ |τ − 1(A < 0)| (y_j − V_j(s_t, ψ))² ]
    L_π = − E [ min(exp(α (V(s_{t+1}, ψ') − V(s_t, ψ))), 100) log π(a_t | s_t, ψ) ]

V = −unit · softplus(·): it is never above zero, the value of being at the goal.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Annotated

import torch
from msgspec import Meta
from torch import Tensor
from torch.nn import functional as F

from goalsets.condition import Conditioner
from goalsets.core.acting import STEPS
from goalsets.learners.base import (
    LEARNERS,
    Learner,
    Metrics,
    Problem,
    follow,
    summary,
)
from goalsets.learners.settings import Settings
from goalsets.learners.values import (
    advantage_weights,
    backed_up,
    expectile,
    raise_to_witness,
    softplus_inverse,
    steps_of_value,
    value_of_steps,
)
from goalsets.nets import Scalar, log_likelihood
from goalsets.relabel.batch import ACTOR, VALUE, Batch


@dataclass(frozen=True)
class GCIVLConfig(Settings):
    """The settings of GCIVL."""

    alpha: Annotated[float, Meta(ge=0, le=10**6)] = 10.0
    """α: how strongly advantages weight the imitated actions."""
    expectile: Annotated[float, Meta(gt=0, lt=1)] = 0.9
    """τ: 0.5 gives the mean over the data's actions; near 1, the best of them."""
    discount: Annotated[float, Meta(ge=0.001, le=1)] = 0.99
    """γ."""
    target_rate: Annotated[float, Meta(ge=0, lt=1)] = 0.995
    """How slowly the target follows: θ̄ ← rate θ̄ + (1 − rate) θ."""
    max_weight: Annotated[float, Meta(gt=0, le=10**9)] = 100.0
    """Largest weight of an imitated action."""
    initial_value: Annotated[float, Meta(ge=-(10**9), lt=0)] = -0.7
    """The initial V. If it is far below the true values, the witness gives information from the
    first step."""
    unit: Annotated[float, Meta(ge=1e-6, le=10**6)] = 1.0
    """The number of steps for an output of 1. With a large unit, a network needs no large weights
    to distinguish near from far, and training is stable at large learning rates."""
    witness: bool = False
    """Raise targets to at least the value of k steps for goals k steps ahead on the same
    trajectory."""


@LEARNERS.register("gcivl")
class GCIVL(Learner):
    """See the module's docstring."""

    Config = GCIVLConfig
    config: GCIVLConfig
    paper_alpha = {"play": 10.0, "noisy": 10.0, "pointmaze": 10.0}  # noqa: RUF012 - constant
    presets = {  # noqa: RUF012 - declared, and never changed
        "released": {"settings": {"witness": True}},
        "cpu": {
            "steps": 2_500,
            "batch_size": 512,
            "learning_rate": 2e-3,
            "settings": {"initial_value": -60.0, "witness": True, "alpha": 0.3},
        },
        "small": {"settings": {"initial_value": -30.0, "witness": True, "alpha": 0.3}},
    }
    distance_unit = STEPS

    def __init__(self, problem: Problem, conditioner: Conditioner, config: GCIVLConfig) -> None:
        """Create the actor, the value and its target."""
        super().__init__(problem, conditioner, config)
        bias = softplus_inverse(-config.initial_value / config.unit)
        self.value = Scalar(problem.state_dim, self.goal_dim, bias=bias, hidden=problem.hidden)
        self.target_value = copy.deepcopy(self.value).requires_grad_(False)

    def _below_zero(self, outputs: Tensor) -> Tensor:
        return -self.config.unit * F.softplus(outputs)

    def value_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Expectile regression of both heads towards their one-step targets."""
        config, goals = self.config, batch.goals[VALUE]
        z = self.condition(batch.states, goals)
        with torch.no_grad():
            next_z = self.condition(batch.next_states, goals)
            next_values = self._below_zero(self.target_value(batch.next_states, next_z))
            targets = backed_up(goals, next_values, -1.0, config.discount)
            if config.witness:
                witnessed = value_of_steps(goals.steps.to(z.dtype), config.discount)
                targets = raise_to_witness(targets, goals, witnessed)
            current = self._below_zero(self.target_value(batch.states, z)).mean(0)
            advantages = targets.amin(0) - current
        values = self._below_zero(self.value(batch.states, z))
        loss = expectile(advantages, targets - values, config.expectile).sum(0).mean()
        shown = {"loss": loss, "mean": values.mean(), "target": targets.mean()}
        return loss, summary("value", {**shown, "advantage": advantages.mean()})

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Advantage-weighted regression: imitate actions that led closer."""
        goals = batch.goals[ACTOR]
        z = self.condition(batch.states, goals)
        with torch.no_grad():
            next_z = self.condition(batch.next_states, goals)
            before = self._below_zero(self.value(batch.states, z)).mean(0)
            after = self._below_zero(self.value(batch.next_states, next_z)).mean(0)
            weights = advantage_weights(after - before, self.config.alpha, self.config.max_weight)
        likelihood = log_likelihood(self.actor(batch.states, z), batch.actions)
        loss = -(weights * likelihood).mean()
        shown = {"loss": loss, "weight": weights.mean(), "likelihood": likelihood.mean()}
        return loss, summary("actor", shown)

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The value's loss and the actor's."""
        value_loss, value_metrics = self.value_loss(batch)
        actor_loss, actor_metrics = self.actor_loss(batch)
        return value_loss + actor_loss, {**value_metrics, **actor_metrics}

    def after_step(self) -> None:
        """Update the target."""
        follow(self.target_value, self.value, self.config.target_rate)

    def distance(self, states: Tensor, goals: Tensor, masks: Tensor) -> Tensor:
        """The number of steps that the value corresponds to."""
        z = self.conditioner(states, goals, masks)
        values = self._below_zero(self.value(states, z)).mean(0)
        return steps_of_value(values, self.config.discount)
