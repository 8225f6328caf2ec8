"""Hierarchical implicit Q-learning (HIQL; Park et al., 2023), for goal sets.

One value and two policies. The value sees goals through a representation φ of unit length. The
high policy proposes the representation of a state k steps on, the low policy goes there:

    V(s, g, q) = v(s, φ(ψ(s, g, q)))                                 by expectiles, as in GCIVL
    L_high = E [ w_h ‖π_h(s, ψ(s, g, q)) − φ(ψ(s, w, 1))‖² ],        w = s_{t+k}, or g if sooner
    L_low  = − E [ w_l log π_l(a | s, φ(ψ(s, s_{t+k}, 1))) ]
    w_h = min(exp(α_h (V(w, g, q) − V(s, g, q))), 100)
    w_l = min(exp(α_l (V(s', s_{t+k}, 1) − V(s, s_{t+k}, 1))), 100)

The question (g, q) may leave most of the state open. A subgoal leaves nothing open: it is a whole
state that the data reached, asked about with the full query 1. That is our choice; the original
knows only full-state goals. φ learns from the value alone.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from goalsets.condition import Conditioner
from goalsets.learners.base import (
    LEARNERS,
    STEPS,
    Learner,
    Metrics,
    Problem,
    follow,
    summary,
)
from goalsets.learners.values import (
    advantage_weights,
    backed_up,
    expectile,
    raise_to_witness,
    softplus_inverse,
    steps_of_value,
    value_of_steps,
)
from goalsets.nets import GOAL_LAYERS, MLP, TRUNK_LAYERS, GoalMLP, log_likelihood
from goalsets.relabel.batch import ACTOR, VALUE, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS, VALUE_GOALS


@dataclass(frozen=True)
class HIQLConfig:
    """What HIQL lets one set."""

    subgoal_steps: int = 10
    """k: how far ahead a subgoal lies."""
    high_alpha: float = 3.0
    """α_h: how sharply the high policy's advantages weigh."""
    low_alpha: float = 3.0
    """α_l: how sharply the low policy's advantages weigh."""
    representation_dim: int = 10
    """The dimension of φ."""
    low_shapes_goals: bool = False
    """Let φ learn from the low policy, too, and not from the value alone."""
    expectile: float = 0.7
    """τ: 0.5 is the mean of what the data did, towards 1 its best."""
    discount: float = 0.99
    """γ."""
    target_rate: float = 0.995
    """How slowly the targets follow."""
    max_weight: float = 100.0
    """Largest weight of an imitated action or subgoal."""
    initial_value: float = -0.7
    """Where V starts. Far below what is true, the witness floor speaks from the first step."""
    witness: bool = False
    """Floor targets at the value of k steps for goals k steps ahead on the same trajectory."""


@LEARNERS.register("hiql")
class HIQL(Learner):
    """See the module's docstring."""

    Config = HIQLConfig
    config: HIQLConfig
    distance_unit = STEPS

    def __init__(self, problem: Problem, conditioner: Conditioner, config: HIQLConfig) -> None:
        """Create φ, the value, their targets and the two policies."""
        super().__init__(problem, conditioner, config)
        hidden, dim = problem.hidden, config.representation_dim
        self.encoder = MLP(1, self.goal_dim, dim, GOAL_LAYERS, hidden)
        self.value = MLP(2, problem.state_dim + dim, 1, TRUNK_LAYERS, hidden)
        nn.init.constant_(self.value.last.bias, softplus_inverse(-config.initial_value))
        self.target_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        self.target_value = copy.deepcopy(self.value).requires_grad_(False)
        self.high = GoalMLP(problem.state_dim, self.goal_dim, dim, hidden=hidden)

    def make_actor(self) -> nn.Module:
        """The low policy: from a state and a representation to an action."""
        problem = self.problem
        inputs = problem.state_dim + self.config.representation_dim
        return MLP(1, inputs, problem.action_dim, TRUNK_LAYERS, problem.hidden)

    @classmethod
    def batch_spec(cls, config: HIQLConfig) -> BatchSpec:
        """Goals for the value and the high policy, and the state k steps on."""
        return BatchSpec({VALUE: VALUE_GOALS, ACTOR: ACTOR_GOALS}, later=(config.subgoal_steps,))

    # --- Its parts ----------------------------------------------------------------------------

    def represent(self, z: Tensor, encoder: MLP | None = None) -> Tensor:
        """φ of goal inputs, `[B, d]`, of length √d."""
        return _normalised((encoder or self.encoder)(z[None])[0])

    def values(self, states: Tensor, z: Tensor) -> Tensor:
        """V of both heads, `[2, B]`."""
        return self._values(self.value, states, self.represent(z))

    def _values(self, value: MLP, states: Tensor, representations: Tensor) -> Tensor:
        return -F.softplus(value(torch.cat((states, representations), -1)[None])[..., 0])

    def _target_values(self, states: Tensor, z: Tensor) -> Tensor:
        return self._values(self.target_value, states, self.represent(z, self.target_encoder))

    def _as_subgoal(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """ψ(s, w, 1): a whole state to go to."""
        return self.conditioner(states, subgoals, torch.ones_like(subgoals, dtype=torch.bool))

    # --- Losses -------------------------------------------------------------------------------

    def value_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Expectile regression of both heads towards their one-step targets."""
        config, goals = self.config, batch.goals[VALUE]
        z = self.condition(batch.states, goals)
        with torch.no_grad():
            next_z = self.condition(batch.next_states, goals)
            next_values = self._target_values(batch.next_states, next_z)
            targets = backed_up(goals, next_values, -1.0, config.discount)
            if config.witness:
                witnessed = value_of_steps(goals.steps.to(z.dtype), config.discount)
                targets = raise_to_witness(targets, goals, witnessed)
            current = self._target_values(batch.states, z).mean(0)
            advantages = targets.amin(0) - current
        values = self.values(batch.states, z)
        loss = expectile(advantages, targets - values, config.expectile).sum(0).mean()
        shown = {"loss": loss, "mean": values.mean(), "target": targets.mean()}
        return loss, summary("value", {**shown, "advantage": advantages.mean()})

    def high_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Propose where the data was k steps on, weighted by what that gained."""
        config, goals = self.config, batch.goals[ACTOR]
        sooner = (goals.steps >= 0) & (goals.steps < config.subgoal_steps)
        subgoals = torch.where(sooner[:, None], goals.references, batch.later[config.subgoal_steps])
        z = self.condition(batch.states, goals)
        with torch.no_grad():
            there = self.values(subgoals, self.condition(subgoals, goals)).mean(0)
            gained = there - self.values(batch.states, z).mean(0)
            weights = advantage_weights(gained, config.high_alpha, config.max_weight)
            wanted = self.represent(self._as_subgoal(batch.states, subgoals))
        errors = (self.high(batch.states, z)[0] - wanted).square().sum(-1)
        loss = 0.5 * (weights * errors).mean()
        shown = {"loss": loss, "error": errors.mean(), "weight": weights.mean()}
        return loss, summary("high", shown)

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Imitate what led to the state k steps on, weighted by its progress."""
        config, subgoals = self.config, batch.later[self.config.subgoal_steps]
        with torch.no_grad():
            z = self._as_subgoal(batch.states, subgoals)
            next_z = self._as_subgoal(batch.next_states, subgoals)
            before = self.values(batch.states, z).mean(0)
            progress = self.values(batch.next_states, next_z).mean(0) - before
            weights = advantage_weights(progress, config.low_alpha, config.max_weight)
        representations = self.represent(z)
        if not config.low_shapes_goals:
            representations = representations.detach()
        likelihood = log_likelihood(self._go(batch.states, representations), batch.actions)
        loss = -(weights * likelihood).mean()
        shown = {"loss": loss, "weight": weights.mean(), "likelihood": likelihood.mean()}
        return loss, summary("actor", shown)

    def _go(self, states: Tensor, representations: Tensor) -> Tensor:
        return self.actor(torch.cat((states, representations), -1)[None])[0]

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The losses of the value and of both policies."""
        value_loss, value_metrics = self.value_loss(batch)
        high_loss, high_metrics = self.high_loss(batch)
        actor_loss, actor_metrics = self.actor_loss(batch)
        metrics = {**value_metrics, **high_metrics, **actor_metrics}
        return value_loss + high_loss + actor_loss, metrics

    def after_step(self) -> None:
        """Let the targets follow."""
        follow(self.target_encoder, self.encoder, self.config.target_rate)
        follow(self.target_value, self.value, self.config.target_rate)

    # --- How it acts --------------------------------------------------------------------------

    def decide(
        self,
        states: Tensor,
        goals: Tensor,
        masks: Tensor,
        *,
        rng: np.random.Generator | None = None,
    ) -> Tensor:
        """Propose a subgoal, and go there."""
        del rng
        proposed = self.high(states, self.conditioner(states, goals, masks))[0]
        return self._go(states, _normalised(proposed))

    def distance(self, states: Tensor, goals: Tensor, masks: Tensor) -> Tensor:
        """Steps that the value stands for."""
        values = self.values(states, self.conditioner(states, goals, masks)).mean(0)
        return steps_of_value(values, self.config.discount)


def _normalised(representations: Tensor) -> Tensor:
    """Representations `[B, d]` of length √d."""
    length = representations.square().mean(-1, keepdim=True).add(1e-6).sqrt()
    return representations / length
