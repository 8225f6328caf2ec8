"""Hierarchical implicit Q-learning (HIQL; Park et al., 2023), for goal sets.

It has one value and two policies. The high policy proposes a state k steps ahead as a subgoal, and
the low policy goes there:

    L_V    = GCIVL's, by expectiles
    L_high = ½ E [ w_h ‖ŵ − w‖² ],            ŵ = s + π_h(s, ψ(s, g, q)),   w = s_{t+k} or g
    L_low  = − E [ log π_l(a | s, ψ(s, s_{t+k}, 1)) ] − E [ w_l log π_l(a | s, ψ(s, ŵ, 1)) ]
    w_h = min(exp(α_h (V(w, g, q) − V(s, g, q))), 100)
    w_l = min(exp(α (V(s', g, q) − V(s, g, q))), 100)

The query q may leave most of the state open. A subgoal leaves nothing open: it is a whole state,
with the full query 1. So the high policy turns every question into a full-state goal in the near
future, which the low policy understands.

Deviation: the original proposes a learned representation of the subgoal; here subgoals are states.
The low policy also learns from proposed subgoals, without a gradient to the proposal. The reason: a
proposal is an average over the data, and no state of the data equals it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from msgspec import Meta
from torch import Tensor

from goalsets.condition import Conditioner
from goalsets.learners.base import LEARNERS, Metrics, Problem, summary
from goalsets.learners.gcivl import GCIVL, GCIVLConfig
from goalsets.learners.values import advantage_weights
from goalsets.nets import GoalMLP, log_likelihood
from goalsets.relabel.batch import ACTOR, VALUE, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS, VALUE_GOALS


@dataclass(frozen=True)
class HIQLConfig(GCIVLConfig):
    """The settings of HIQL, in addition to those of GCIVL, whose value it uses."""

    alpha: Annotated[float, Meta(ge=0, le=10**6)] = 3.0
    """α: how strongly advantages weight the low policy's actions."""
    high_alpha: Annotated[float, Meta(ge=0, le=10**6)] = 3.0
    """α_h: how strongly advantages weight the high policy's subgoals."""
    subgoal_steps: Annotated[int, Meta(ge=1, le=10**6)] = 15
    """k: how many steps ahead a subgoal is."""
    expectile: Annotated[float, Meta(gt=0, lt=1)] = 0.7
    """τ: 0.5 gives the mean over the data's actions; near 1, the best of them."""


@LEARNERS.register("hiql")
class HIQL(GCIVL):
    """See the module's docstring."""

    Config = HIQLConfig
    config: HIQLConfig  # pyright: ignore[reportIncompatibleVariableOverride] - it is narrower
    paper_alpha = {}  # noqa: RUF012 - the paper does not use this learner
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {
            "steps": 2_500,
            "batch_size": 512,
            "learning_rate": 2e-3,
            "settings": {
                "initial_value": -60.0,
                "witness": True,
                "alpha": 0.3,
                "high_alpha": 0.3,
            },
        },
        "small": {
            "batch_size": 256,
            "settings": {
                "initial_value": -30.0,
                "witness": True,
                "alpha": 0.3,
                "high_alpha": 1.0,
            },
        },
    }

    def __init__(self, problem: Problem, conditioner: Conditioner, config: HIQLConfig) -> None:
        """Create the high policy beside the low one, the value and its target."""
        super().__init__(problem, conditioner, config)
        dim = problem.state_dim
        self.high = GoalMLP(dim, self.goal_dim, dim, hidden=problem.hidden)

    @classmethod
    def batch_spec(cls, config: HIQLConfig) -> BatchSpec:
        """Goals for the value and the high policy, and the state k steps later."""
        return BatchSpec({VALUE: VALUE_GOALS, ACTOR: ACTOR_GOALS}, later=(config.subgoal_steps,))

    def propose(self, states: Tensor, z: Tensor) -> Tensor:
        """The subgoals `[B, D]` of the high policy, whole states."""
        return states + self.high(states, z)[0]

    def condition_on_subgoals(self, states: Tensor, subgoals: Tensor) -> Tensor:
        """ψ(s, w, 1): the low policy's goal input for a subgoal."""
        return self.conditioner(states, subgoals, torch.ones_like(subgoals, dtype=torch.bool))

    def _value(self, states: Tensor, z: Tensor) -> Tensor:
        """V, the mean of both heads: `[B]`."""
        return self._below_zero(self.value(states, z)).mean(0)

    # --- Losses -------------------------------------------------------------------------------

    def high_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Propose the data's state k steps later, weighted by its advantage."""
        config, goals = self.config, batch.goals[ACTOR]
        sooner = (goals.steps >= 0) & (goals.steps < config.subgoal_steps)
        later = batch.later[config.subgoal_steps]
        subgoals = torch.where(sooner[:, None], goals.references, later)
        z = self.condition(batch.states, goals)
        with torch.no_grad():
            there = self._value(subgoals, self.condition(subgoals, goals))
            gained = there - self._value(batch.states, z)
            weights = advantage_weights(gained, config.high_alpha, config.max_weight)
        errors = (self.propose(batch.states, z) - subgoals).square().sum(-1)
        loss = 0.5 * (weights * errors).mean()
        shown = {"loss": loss, "error": errors.mean(), "weight": weights.mean()}
        return loss, summary("high", shown)

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Imitate actions towards the state k steps later, and towards the proposed subgoal."""
        config, goals = self.config, batch.goals[ACTOR]
        subgoals = batch.later[config.subgoal_steps]
        with torch.no_grad():
            z = self.condition(batch.states, goals)
            next_z = self.condition(batch.next_states, goals)
            progress = self._value(batch.next_states, next_z) - self._value(batch.states, z)
            weights = advantage_weights(progress, config.alpha, config.max_weight)
            proposed = self.propose(batch.states, z)
        reached = self._imitate(batch, subgoals, torch.ones_like(weights))
        loss = self._imitate(batch, proposed, weights) + reached
        shown = {"loss": loss, "reached": reached, "weight": weights.mean()}
        return loss, summary("actor", shown)

    def _imitate(self, batch: Batch[Tensor], subgoals: Tensor, weights: Tensor) -> Tensor:
        z = self.condition_on_subgoals(batch.states, subgoals)
        return -(weights * log_likelihood(self.actor(batch.states, z), batch.actions)).mean()

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The losses of the value and of both policies."""
        value_loss, value_metrics = self.value_loss(batch)
        high_loss, high_metrics = self.high_loss(batch)
        actor_loss, actor_metrics = self.actor_loss(batch)
        metrics = {**value_metrics, **high_metrics, **actor_metrics}
        return value_loss + high_loss + actor_loss, metrics

    # --- Acting -------------------------------------------------------------------------------

    def decide(
        self,
        states: Tensor,
        goals: Tensor,
        masks: Tensor,
        *,
        rng: np.random.Generator | None = None,
    ) -> Tensor:
        """Propose a subgoal and act towards it."""
        del rng
        subgoals = self.propose(states, self.conditioner(states, goals, masks))
        return self.mean_action(states, self.condition_on_subgoals(states, subgoals))
