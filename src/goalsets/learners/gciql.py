"""Goal-conditioned implicit Q-learning (GCIQL).

The value learns an expectile of the critic, and the critic learns one-step targets of the value.
The policy maximises the critic and stays near the data (DDPG+BC), or imitates actions weighted by
advantage (AWR) (OGBench; paper, appendix E). With Q̄ the slowly updated target and j two heads:

    L_V = Σ_j ½ E [ |τ − 1(A_j < 0)| A_j² ],       A_j = min_i Q̄_i(s, a, ψ) − V_j(s, ψ)
    y   = 0 if s_t is at the goal, −1 if s_{t+1} is, else −1 + γ mean_j V_j(s_{t+1}, ψ')
    L_Q = Σ_j E [ (Q_j(s, a, ψ) − y)² ]
    L_π = − E [ min_j Q_j(s, π(s, ψ), ψ) ] / E|Q| − α E [ log π(a | s, ψ) ]            (DDPG+BC)

V = −softplus(·); Q is unbounded. Actions are clamped to the bounds of the environment.
"""

from __future__ import annotations

import copy
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
class GCIQLConfig(Settings):
    """The settings of GCIQL."""

    alpha: Annotated[float, Meta(ge=0, le=10**6)] = 1.0
    """α: the weight of imitation (DDPG+BC), or how strongly advantages weight actions (AWR)."""
    extraction: Literal["ddpg+bc", "awr"] = "ddpg+bc"
    """How the policy is extracted."""
    expectile: Annotated[float, Meta(gt=0, lt=1)] = 0.9
    """τ: 0.5 gives the mean over the data's actions; near 1, the best of them."""
    discount: Annotated[float, Meta(ge=0.001, le=1)] = 0.99
    """γ."""
    target_rate: Annotated[float, Meta(ge=0, lt=1)] = 0.995
    """How slowly the target critic follows: θ̄ ← rate θ̄ + (1 − rate) θ."""
    max_weight: Annotated[float, Meta(gt=0, le=10**9)] = 100.0
    """AWR: largest weight of an imitated action."""
    initial_value: Annotated[float, Meta(ge=-(10**9), lt=0)] = -0.7
    """The initial V. Q starts at the same value if this is below −1, otherwise at 0."""
    witness: bool = False
    """Raise targets to at least the value of k steps for goals k steps ahead on the same
    trajectory."""


@LEARNERS.register("gciql")
class GCIQL(Learner):
    """See the module's docstring."""

    Config = GCIQLConfig
    config: GCIQLConfig
    paper_alpha = {"play": 1.0, "noisy": 0.03, "pointmaze": 0.003}  # noqa: RUF012 - constant
    presets = {  # noqa: RUF012 - declared, and never changed
        "released": {"settings": {"witness": True}},
        # One gradient clip for all networks: while the critic is wrong, its large gradient keeps
        # the steps of the policy small.
        "cpu": {
            "steps": 2_800,
            "batch_size": 512,
            "learning_rate": 1.2e-3,
            "clip_apart": False,
            "settings": {"initial_value": -60.0, "witness": True, "alpha": 0.3},
        },
        # A step takes long: with batches of 512, training would take a minute or more.
        "small": {
            "batch_size": 256,
            "settings": {"initial_value": -30.0, "witness": True, "alpha": 3.0},
        },
    }
    distance_unit = STEPS

    def __init__(self, problem: Problem, conditioner: Conditioner, config: GCIQLConfig) -> None:
        """Create the actor, the value, the critic and its target."""
        super().__init__(problem, conditioner, config)
        start = config.initial_value
        state_dim, action_dim = problem.state_dim, problem.action_dim
        hidden = problem.hidden
        below = softplus_inverse(-start)
        self.value = Scalar(state_dim, self.goal_dim, bias=below, hidden=hidden)
        critic_start = start if start < -1 else 0.0
        self.critic = Scalar(
            state_dim + action_dim, self.goal_dim, bias=critic_start, hidden=hidden
        )
        self.target_critic = copy.deepcopy(self.critic).requires_grad_(False)

    def value_loss(self, batch: Batch[Tensor], z: Tensor) -> tuple[Tensor, Metrics]:
        """Expectile regression of V towards the target critic."""
        pairs = torch.cat((batch.states, batch.actions), dim=-1)
        with torch.no_grad():
            targets = self.target_critic(pairs, z.detach()).amin(0)
        values = -F.softplus(self.value(batch.states, z))
        advantages = targets - values
        weighted = expectile(advantages.detach(), advantages, self.config.expectile)
        loss = 0.5 * weighted.sum(0).mean()
        shown = {"loss": loss, "mean": values.mean(), "advantage": advantages.mean()}
        return loss, summary("value", shown)

    def critic_loss(self, batch: Batch[Tensor], z: Tensor) -> tuple[Tensor, Metrics]:
        """Squared error of Q towards −1 + γ V(s')."""
        config, goals = self.config, batch.goals[VALUE]
        pairs = torch.cat((batch.states, batch.actions), dim=-1)
        with torch.no_grad():
            next_z = self.condition(batch.next_states, goals)
            next_values = -F.softplus(self.value(batch.next_states, next_z)).mean(0)
            targets = backed_up(goals, next_values, -1.0, config.discount)
            if config.witness:
                witnessed = value_of_steps(goals.steps.to(z.dtype), config.discount)
                targets = raise_to_witness(targets, goals, witnessed)
        values = self.critic(pairs, z)
        loss = (values - targets).square().sum(0).mean()
        shown = {"loss": loss, "mean": values.mean(), "target": targets.mean()}
        return loss, summary("critic", shown)

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Maximise the critic and stay near the data, or imitate by advantage."""
        z = self.condition(batch.states, batch.goals[ACTOR])
        means = self.actor(batch.states, z)
        likelihood = log_likelihood(means, batch.actions)
        if self.config.extraction == "awr":
            loss = -(self._advantage_weights(batch, z) * likelihood).mean()
            return loss, summary("actor", {"loss": loss, "likelihood": likelihood.mean()})
        # The critic is frozen: the actor's loss must not change its weights.
        pairs = torch.cat((batch.states, self.clamp(means)), dim=-1)
        scores = self.critic(pairs, z.detach(), frozen=True).amin(0)
        climb = -scores.mean() / (scores.detach().abs().mean() + 1e-6)
        imitate = -self.config.alpha * likelihood.mean()
        shown = {"loss": climb + imitate, "climb": climb, "imitate": imitate}
        return climb + imitate, summary("actor", {**shown, "likelihood": likelihood.mean()})

    @torch.no_grad()
    def _advantage_weights(self, batch: Batch[Tensor], z: Tensor) -> Tensor:
        pairs = torch.cat((batch.states, batch.actions), dim=-1)
        scores = self.critic(pairs, z).amin(0)
        values = -F.softplus(self.value(batch.states, z)).mean(0)
        return advantage_weights(scores - values, self.config.alpha, self.config.max_weight)

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The losses of the value, the critic and the actor."""
        z = self.condition(batch.states, batch.goals[VALUE])
        value_loss, value_metrics = self.value_loss(batch, z)
        critic_loss, critic_metrics = self.critic_loss(batch, z)
        actor_loss, actor_metrics = self.actor_loss(batch)
        metrics = {**value_metrics, **critic_metrics, **actor_metrics}
        return value_loss + critic_loss + actor_loss, metrics

    def after_step(self) -> None:
        """Update the target critic."""
        follow(self.target_critic, self.critic, self.config.target_rate)

    def distance(self, states: Tensor, goals: Tensor, masks: Tensor) -> Tensor:
        """The number of steps that the value corresponds to."""
        z = self.conditioner(states, goals, masks)
        values = -F.softplus(self.value(states, z)).mean(0)
        return steps_of_value(values, self.config.discount)
