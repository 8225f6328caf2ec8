"""Goal-conditioned distance learning (GCDL): the paper's appendix E.1.

It learns the undiscounted shortest path as a value in [−1, 0], a normalised negative distance:
d̂ = −V · H. With δ = −1/H, V̄ the slowly updated target and j two heads:

    y   = 0 if s_t is at the goal, δ if s_{t+1} is, else δ + min_j V̄_j(s_{t+1}, ψ')
    y   ← clip(y, −1, 0)
    L_V = Σ_j E [ (V_j(s_t, ψ) − y)² ]
    L_π = − E [ min(exp(α (d̂(s_t) − d̂(s_{t+1}))), 100) log π(a_t | s_t, ψ) ]

V = −sigmoid(·), and d̂ in the policy's weights is the larger of the two heads' distances.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Annotated, Literal

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
from goalsets.learners.values import advantage_weights, backed_up, raise_to_witness
from goalsets.nets import Scalar, log_likelihood
from goalsets.relabel.batch import ACTOR, VALUE, Batch


@dataclass(frozen=True)
class GCDLConfig(Settings):
    """The settings of GCDL."""

    alpha: Annotated[float, Meta(ge=0, le=10**6)] = 1.0
    """α: how strongly the progress of a step weights its action."""
    target_rate: Annotated[float, Meta(ge=0, lt=1)] = 0.995
    """How slowly the target follows: θ̄ ← rate θ̄ + (1 − rate) θ."""
    max_weight: Annotated[float, Meta(gt=0, le=10**9)] = 100.0
    """Largest weight of an imitated action."""
    initial_value: Annotated[float, Meta(gt=-1, lt=0)] = -0.5
    """The initial V, between −1 and 0."""
    loss: Literal["squared", "huber"] = "squared"
    """The paper's squared error, or the released code's smooth L1."""
    witness: bool = False
    """Raise targets to at least −k/H for goals k steps ahead on the same trajectory."""
    bootstrapped_goal: bool = False
    """Also count s_{t+1} as at the goal if its target value is above minus half a step."""


@LEARNERS.register("gcdl")
class GCDL(Learner):
    """See the module's docstring."""

    Config = GCDLConfig
    config: GCDLConfig
    paper_alpha = {"play": 1.0, "noisy": 1.0, "pointmaze": 1.0}  # noqa: RUF012 - constant
    presets = {  # noqa: RUF012 - declared, and never changed
        "released": {"settings": {"witness": True, "loss": "huber", "bootstrapped_goal": True}},
        "cpu": {
            "steps": 2_500,
            "batch_size": 512,
            "learning_rate": 2e-3,
            "settings": {"initial_value": -0.6, "witness": True, "alpha": 0.1},
        },
        "small": {"settings": {"initial_value": -0.6, "witness": True, "alpha": 0.1}},
    }
    distance_unit = STEPS

    def __init__(self, problem: Problem, conditioner: Conditioner, config: GCDLConfig) -> None:
        """Create the actor, the value and its target."""
        super().__init__(problem, conditioner, config)
        share = -config.initial_value
        self.value = Scalar(
            problem.state_dim,
            self.goal_dim,
            bias=math.log(share) - math.log1p(-share),
            hidden=problem.hidden,
        )
        self.target_value = copy.deepcopy(self.value).requires_grad_(False)
        self.step_value = -1.0 / problem.horizon

    def value_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Regression of both heads towards the pessimistic one-step target."""
        goals = batch.goals[VALUE]
        z = self.condition(batch.states, goals)
        targets = self._targets(batch)
        values = -torch.sigmoid(self.value(batch.states, z))
        if self.config.loss == "huber":
            errors = F.smooth_l1_loss(values, targets.expand_as(values), reduction="none")
        else:
            errors = (values - targets).square()
        loss = errors.sum(0).mean()
        shown = {"loss": loss, "mean": values.mean(), "target": targets.mean()}
        return loss, summary("value", shown)

    @torch.no_grad()
    def _targets(self, batch: Batch[Tensor]) -> Tensor:
        goals = batch.goals[VALUE]
        next_z = self.condition(batch.next_states, goals)
        next_values = -torch.sigmoid(self.target_value(batch.next_states, next_z)).amax(0)
        if self.config.bootstrapped_goal:
            next_values = torch.where(next_values > 0.5 * self.step_value, 0.0, next_values)
        targets = backed_up(goals, next_values, self.step_value, discount=1.0)
        if self.config.witness:
            witnessed = goals.steps.to(targets.dtype) * self.step_value
            targets = raise_to_witness(targets, goals, witnessed)
        return targets.clamp(-1.0, 0.0)

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Advantage-weighted regression: imitate actions that led closer, measured in steps."""
        goals = batch.goals[ACTOR]
        z = self.condition(batch.states, goals)
        with torch.no_grad():
            next_z = self.condition(batch.next_states, goals)
            progress = self._steps(batch.states, z) - self._steps(batch.next_states, next_z)
            weights = advantage_weights(progress, self.config.alpha, self.config.max_weight)
        likelihood = log_likelihood(self.actor(batch.states, z), batch.actions)
        loss = -(weights * likelihood).mean()
        shown = {"loss": loss, "weight": weights.mean(), "progress": progress.mean()}
        return loss, summary("actor", {**shown, "likelihood": likelihood.mean()})

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The value's loss and the actor's."""
        value_loss, value_metrics = self.value_loss(batch)
        actor_loss, actor_metrics = self.actor_loss(batch)
        return value_loss + actor_loss, {**value_metrics, **actor_metrics}

    def after_step(self) -> None:
        """Update the target."""
        follow(self.target_value, self.value, self.config.target_rate)

    def distance(self, states: Tensor, goals: Tensor, masks: Tensor) -> Tensor:
        """Predicted steps."""
        return self._steps(states, self.conditioner(states, goals, masks))

    def _steps(self, states: Tensor, z: Tensor) -> Tensor:
        """The distance by the more pessimistic head: d̂ = −V H."""
        return torch.sigmoid(self.value(states, z)).amax(0) * self.problem.horizon
