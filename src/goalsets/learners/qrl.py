"""Quasimetric reinforcement learning (QRL; Wang et al., 2023), for goal sets.

The distance to a goal set is a quasimetric d of latent codes, so the triangle inequality holds by
construction. The distance is maximised everywhere, with the constraint that a transition is at most
one step:

    max  E [ φ(d(f(s), h(g, q))) ]                            over states and random goals
    s.t. E [ relu(d(f(s_t), f(s_{t+1})) − 1)² ] ≤ ε²          a transition is one step
         E [ d(f(s), h(s, q))² ] ≤ ε²                         a state is in its own goal sets
    d(x, y) = scale · mean_c ( max_i relu(x_ci − y_ci) + ‖x'_c − y'_c‖ / √n )

By the constraints and the triangle inequality, d is at most the smallest number of steps in the
data; maximised, it becomes this number. φ(d) = −β softplus(o − d/β) gives far pairs little weight.
The constraints share a dual variable λ ≥ 0 with its own learning rate:

    L_d = β E [ softplus(o − d/β) ] + λ C,      L_λ = λ (ε² − C),      C = the sum of both
    L_π = − E [ min(exp(α (d(s, g, q) − d(s', g, q))), 100) log π(a | s, ψ(s, g, q)) ]

The second constraint is ours: the original has only full-state goals, with h = f. h sees only the
part of ψ that depends on the goal, so it does not see inactive coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from msgspec import Meta
from torch import Tensor, nn
from torch.nn import functional as F

from goalsets.condition import Conditioner
from goalsets.core.acting import STEPS
from goalsets.learners.base import (
    LEARNERS,
    Learner,
    Metrics,
    ParameterGroup,
    Problem,
    summary,
)
from goalsets.learners.settings import Settings
from goalsets.learners.values import advantage_weights, softplus_inverse
from goalsets.nets import MLP, log_likelihood
from goalsets.relabel.batch import ACTOR, VALUE, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS, GoalMixture


@dataclass(frozen=True)
class QRLConfig(Settings):
    """The settings of QRL."""

    alpha: Annotated[float, Meta(ge=0, le=10**6)] = 0.3
    """α: how strongly the progress of a step weights its action."""
    components: Annotated[int, Meta(ge=1, le=128)] = 8
    """The number of components over which the quasimetric averages."""
    component_dim: Annotated[int, Meta(ge=2, le=128)] = 16
    """The coordinates of a component: half of them for each of its two terms."""
    layers: Annotated[int, Meta(ge=0, le=64)] = 3
    """Hidden layers of f and h."""
    scale: Annotated[float, Meta(ge=1e-6, le=10**6)] = 10.0
    """The number of steps for a distance of 1 between codes, so that codes stay near 1."""
    softness: Annotated[float, Meta(ge=1e-6, le=10**6)] = 20.0
    """β: over how many steps the weight of a pair decreases."""
    offset: Annotated[float, Meta(ge=-(10**6), le=10**6)] = 5.0
    """o: the weight of a pair decreases around o β steps."""
    epsilon: Annotated[float, Meta(ge=0, le=10**6)] = 0.05
    """ε: how much the constraints may be violated, as a root mean square."""
    dual_start: Annotated[float, Meta(gt=0, le=10**6)] = 1.0
    """The initial λ."""
    dual_rate: Annotated[float, Meta(ge=0, le=10**6)] = 10.0
    """The learning rate of λ, as a multiple of the run's."""
    max_weight: Annotated[float, Meta(gt=0, le=10**9)] = 100.0
    """Largest weight of an imitated action."""


@LEARNERS.register("qrl")
class QRL(Learner):
    """See the module's docstring."""

    Config = QRLConfig
    config: QRLConfig
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {"steps": 3_000, "batch_size": 512, "learning_rate": 2e-3},
        "small": {"batch_size": 256},
    }
    distance_unit = STEPS

    def __init__(self, problem: Problem, conditioner: Conditioner, config: QRLConfig) -> None:
        """Create the actor, the two encoders and the dual variable."""
        super().__init__(problem, conditioner, config)
        latent = config.components * config.component_dim
        hidden = problem.hidden
        self.state_encoder = MLP(1, problem.state_dim, latent, config.layers, hidden)
        self.goal_encoder = MLP(1, conditioner.goal_dim, latent, config.layers, hidden)
        self.dual = nn.Parameter(torch.tensor(softplus_inverse(config.dual_start)))

    @classmethod
    def batch_spec(cls, config: QRLConfig) -> BatchSpec:
        """Random goals for the distance, and goals for the actor."""
        del config
        return BatchSpec({VALUE: GoalMixture(0.0, 0.0, 1.0), ACTOR: ACTOR_GOALS})

    def parameter_groups(self) -> list[ParameterGroup]:
        """λ has its own learning rate and no weight decay."""
        others = [p for p in self.parameters() if p.requires_grad and p is not self.dual]
        return [
            ParameterGroup(others),
            ParameterGroup([self.dual], rate=self.config.dual_rate, decayed=False),
        ]

    # --- The quasimetric ----------------------------------------------------------------------

    def encode_states(self, states: Tensor) -> Tensor:
        """f(s), `[B, latent]`."""
        return self.state_encoder(states[None])[0]

    def encode_goals(self, goals: Tensor, masks: Tensor) -> Tensor:
        """h(g, q), `[B, latent]`."""
        return self.goal_encoder(self.conditioner.goal_input(goals, masks)[None])[0]

    def apart(self, here: Tensor, there: Tensor) -> Tensor:
        """The quasimetric between codes `[B, latent]`: `[B]`. It is not symmetric."""
        gap = (here - there).unflatten(-1, (self.config.components, self.config.component_dim))
        one_way, both_ways = gap.chunk(2, dim=-1)
        ahead = torch.relu(one_way).amax(-1)
        length = both_ways.square().mean(-1).add(1e-12).sqrt()
        return self.config.scale * (ahead + length).mean(-1)

    # --- Losses -------------------------------------------------------------------------------

    def distance_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Maximise distances between states and goals under the constraints."""
        config, goals = self.config, batch.goals[VALUE]
        here = self.encode_states(batch.states)
        far = self.apart(here, self.encode_goals(goals.references, goals.masks))
        push = config.softness * F.softplus(config.offset - far / config.softness).mean()
        step = self.apart(here, self.encode_states(batch.next_states))
        inside = self.apart(here, self.encode_goals(batch.states, goals.masks))
        broken = torch.relu(step - 1.0).square().mean() + inside.square().mean()
        dual = F.softplus(self.dual)
        allowed = config.epsilon**2
        loss = push + dual.detach() * broken + dual * (allowed - broken.detach())
        shown = {"loss": loss, "far": far.mean(), "step": step.mean(), "inside": inside.mean()}
        return loss, summary("distance", {**shown, "broken": broken, "dual": dual})

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Advantage-weighted regression: imitate actions that led closer, measured in steps."""
        goals = batch.goals[ACTOR]
        with torch.no_grad():
            aim = self.encode_goals(goals.references, goals.masks)
            before, after = (
                self.apart(self.encode_states(states), aim)
                for states in (batch.states, batch.next_states)
            )
            progress = before - after
            weights = advantage_weights(progress, self.config.alpha, self.config.max_weight)
        means = self.actor(batch.states, self.condition(batch.states, goals))
        likelihood = log_likelihood(means, batch.actions)
        loss = -(weights * likelihood).mean()
        shown = {"loss": loss, "weight": weights.mean(), "progress": progress.mean()}
        return loss, summary("actor", {**shown, "likelihood": likelihood.mean()})

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The quasimetric's loss and the actor's."""
        distance_loss, distance_metrics = self.distance_loss(batch)
        actor_loss, actor_metrics = self.actor_loss(batch)
        return distance_loss + actor_loss, {**distance_metrics, **actor_metrics}

    def distance(self, states: Tensor, goals: Tensor, masks: Tensor) -> Tensor:
        """Predicted steps."""
        return self.apart(self.encode_states(states), self.encode_goals(goals, masks))
