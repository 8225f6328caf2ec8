"""Goal-conditioned behavioural cloning (GCBC).

Imitate the action that was taken on the way to a later state of the same trajectory:

    L_π = − E [ w(k) log π(a_t | s_t, ψ(s_t, g, q)) ],      g = s_{t+k},      w(k) = γᵏ / E γᵏ

It learns no value and plans nothing; it shows what relabeling alone gives (paper, appendix E).

Deviation: the paper has γ = 1. With γ < 1 short ways count for more than detours. That matters
where the data did different things in one state, as a hand at a cube that either grasps it or has
just let it go and will come back.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from goalsets.condition import Conditioner
from goalsets.core import GoalsetsError
from goalsets.learners.base import LEARNERS, Learner, Metrics, Problem, summary
from goalsets.nets import log_likelihood
from goalsets.relabel.batch import ACTOR, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS


@dataclass(frozen=True)
class GCBCConfig:
    """What GCBC lets one set."""

    discount: float = 1.0
    """γ: how much an action counts for a goal that is k steps away; 1 counts all alike."""

    def __post_init__(self) -> None:
        """Check the number."""
        if not 0 < self.discount <= 1:
            raise GoalsetsError(f"discount must be above 0 and at most 1, got {self.discount}.")


@LEARNERS.register("gcbc")
class GCBC(Learner):
    """See the module's docstring."""

    Config = GCBCConfig
    config: GCBCConfig
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {"steps": 4_000, "batch_size": 1024, "learning_rate": 2e-3, "weight_decay": 0.5},
        "hour": {"steps": 24_000, "weight_decay": 0.05},
        "direct": {"settings": {"discount": 0.97}},
        # Noise reaches far goals by accident: what was done long before says little about them.
        "direct-noisy": {"settings": {"discount": 0.9}},
    }

    def __init__(self, problem: Problem, conditioner: Conditioner, config: GCBCConfig) -> None:
        """Create the actor."""
        super().__init__(problem, conditioner, config)

    @classmethod
    def batch_spec(cls, config: GCBCConfig) -> BatchSpec:
        """Goals for an actor: there is no value to feed."""
        del config
        return BatchSpec({ACTOR: ACTOR_GOALS})

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """− w log π(a | s, ψ), the mean over the batch."""
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
        """The actor's loss alone."""
        return self.actor_loss(batch)
