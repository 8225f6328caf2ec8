"""Goal-conditioned behavioural cloning (GCBC).

Imitate the action that was taken on the way to a later state of the same trajectory:

    L_π = − E [ w(k) log π(a_t | s_t, ψ(s_t, g, q)) ],      g = s_{t+k},      w(k) = γᵏ / E γᵏ

It learns no value and does not plan; it shows the effect of relabeling alone (paper, appendix E).

Deviation: the paper has γ = 1. With γ < 1, short paths count more than detours. This matters if the
data contains different actions in one state: a hand at a cube may be about to grasp it, or may have
just released it and will come back later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta
from torch import Tensor

from goalsets.condition import Conditioner
from goalsets.learners.base import LEARNERS, Learner, Metrics, Problem, summary
from goalsets.learners.settings import Settings
from goalsets.nets import log_likelihood
from goalsets.relabel.batch import ACTOR, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS


@dataclass(frozen=True)
class GCBCConfig(Settings):
    """The settings of GCBC."""

    discount: Annotated[float, Meta(ge=0.001, le=1)] = 1.0
    """γ: an action counts γᵏ for a goal that is k steps away; with 1, all count equally."""


@LEARNERS.register("gcbc")
class GCBC(Learner):
    """See the module's docstring."""

    Config = GCBCConfig
    config: GCBCConfig
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {"steps": 4_000, "batch_size": 1024, "learning_rate": 2e-3, "weight_decay": 0.5},
        "hour": {"steps": 24_000, "weight_decay": 0.05},
        # Noisy data reaches far goals by accident, so early actions say little about them.
        "direct-noisy": {"settings": {"discount": 0.9}},
    }

    def __init__(self, problem: Problem, conditioner: Conditioner, config: GCBCConfig) -> None:
        """Create the actor."""
        super().__init__(problem, conditioner, config)

    @classmethod
    def batch_spec(cls, config: GCBCConfig) -> BatchSpec:
        """Goals for an actor only, because there is no value."""
        del config
        return BatchSpec({ACTOR: ACTOR_GOALS})

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The mean of − w log π(a | s, ψ) over the batch."""
        goals = batch.goals[ACTOR]
        means = self.actor(batch.states, self.condition(batch.states, goals))
        likelihood = log_likelihood(means, batch.actions)
        if self.config.discount < 1:
            weights = self.config.discount ** goals.steps.clamp(min=0).to(means.dtype)
            likelihood = likelihood * (weights / weights.mean())
        loss = -likelihood.mean()
        error = (means - batch.actions).square().mean()
        return loss, summary("actor", {"loss": loss, "mse": error})

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Only the actor's loss."""
        return self.actor_loss(batch)
