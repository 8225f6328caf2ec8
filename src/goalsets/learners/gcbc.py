"""Goal-conditioned behavioural cloning (GCBC).

Imitate the action that was taken on the way to a later state of the same trajectory:

    L_π = − E [ log π(a_t | s_t, ψ(s_t, g, q)) ],      g = s_{t+k}

It learns no value and plans nothing; it shows what relabeling alone gives (paper, appendix E).
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from goalsets.condition import Conditioner
from goalsets.learners.base import LEARNERS, Learner, Metrics, Problem, summary
from goalsets.nets import log_likelihood
from goalsets.relabel.batch import ACTOR, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS


@dataclass(frozen=True)
class GCBCConfig:
    """GCBC has nothing to set."""


@LEARNERS.register("gcbc")
class GCBC(Learner):
    """See the module's docstring."""

    Config = GCBCConfig
    config: GCBCConfig
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {"steps": 4_000, "batch_size": 1024, "learning_rate": 2e-3, "weight_decay": 0.5},
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
        """− log π(a | s, ψ), the mean over the batch."""
        z = self.condition(batch.states, batch.goals[ACTOR])
        means = self.actor(batch.states, z)
        loss = -log_likelihood(means, batch.actions).mean()
        error = (means - batch.actions).square().mean()
        return loss, summary("actor", {"loss": loss, "mse": error})

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The actor's loss alone."""
        return self.actor_loss(batch)
