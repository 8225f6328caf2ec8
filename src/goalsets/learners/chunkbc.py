"""Behavioural cloning of action chunks (ChunkBC): several actions are decided at once.

Imitate the next K actions that were taken on the way to a later state of the same trajectory:

    L_π = − E [ Σ_k m_k log π_k(a_{t+k} | s_t, ψ(s_t, g, q)) / Σ_k m_k ],      k = 0 … K − 1

m_k is 0 after the end of the episode. When acting, n ≤ K actions are taken before the next decision
(Zhao et al., 2023, without their temporal ensemble); the others are dropped. If the goal or the
query changes, the remaining actions are dropped too. Chunks can represent what single actions
cannot: a pause, or a direction that is kept once it is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta
from torch import Tensor, nn

from goalsets.condition import Conditioner
from goalsets.core import GoalsetsError
from goalsets.learners.base import LEARNERS, Learner, Metrics, Problem, summary
from goalsets.learners.settings import Settings
from goalsets.relabel.batch import ACTOR, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS


@dataclass(frozen=True)
class ChunkBCConfig(Settings):
    """The settings of ChunkBC."""

    length: Annotated[int, Meta(ge=2, le=1000)] = 4
    """K: how many actions are decided at once."""
    taken: Annotated[int, Meta(ge=1, le=1000)] = 2
    """n: how many of them are taken before the next decision."""

    def __post_init__(self) -> None:
        """Check that a chunk has as many actions as are taken."""
        super().__post_init__()
        if self.taken > self.length:
            raise GoalsetsError(
                f"taken needs to be at most the length of a chunk ({self.length}), got "
                f"{self.taken}."
            )


@LEARNERS.register("chunkbc")
class ChunkBC(Learner):
    """See the module's docstring."""

    Config = ChunkBCConfig
    config: ChunkBCConfig
    presets = {  # noqa: RUF012 - declared, and never changed
        "cpu": {"steps": 4_000, "batch_size": 1024, "learning_rate": 2e-3, "weight_decay": 0.5},
    }

    def __init__(self, problem: Problem, conditioner: Conditioner, config: ChunkBCConfig) -> None:
        """Create an actor for all actions of a chunk."""
        super().__init__(problem, conditioner, config)

    @classmethod
    def batch_spec(cls, config: ChunkBCConfig) -> BatchSpec:
        """Goals for an actor, and the actions of a chunk."""
        return BatchSpec({ACTOR: ACTOR_GOALS}, actions=config.length)

    def make_actor(self) -> nn.Module:
        """An actor with an output for each component of each action."""
        return self.gaussian_actor(self.config.length * self.problem.action_dim)

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The mean of − log π over the actions within the episode."""
        assert batch.taken is not None
        z = self.condition(batch.states, batch.goals[ACTOR])
        means = self.actor(batch.states, z).unflatten(-1, batch.actions.shape[1:])
        errors = (means - batch.actions).square().sum(-1)
        taken = batch.taken.to(errors.dtype)
        loss = 0.5 * ((errors * taken).sum(1) / taken.sum(1)).mean()
        error = (errors * taken).sum() / (taken.sum() * batch.actions.shape[-1])
        return loss, summary("actor", {"loss": loss, "mse": error})

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Only the actor's loss."""
        return self.actor_loss(batch)

    # --- Acting -------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        """K: how many actions are decided at once."""
        return self.config.length

    @property
    def executed(self) -> int:
        """How many of them are taken (n)."""
        return self.config.taken

    def decide(
        self,
        states: Tensor,
        goals: Tensor,
        masks: Tensor,
        *,
        rng: np.random.Generator | None = None,
    ) -> Tensor:
        """The actions of a chunk, `[B, K, A]`."""
        del rng
        means = self.mean_action(states, self.conditioner(states, goals, masks))
        return means.unflatten(-1, (self.config.length, self.problem.action_dim))
