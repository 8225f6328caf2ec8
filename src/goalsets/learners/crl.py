"""Contrastive reinforcement learning (CRL).

A critic learns by binary noise contrastive estimation to distinguish the goal of a transition from
those of others in the batch. A policy maximises the critic, DDPG+BC (OGBench; paper, appendix E).
With f_j(s, a, g) = φ_j(s, a)ᵀ ψ_j(g) / √d and j two heads:

    L_f = mean_{j, i, k} BCE( f_j(s_i, a_i, g_k), 1(i = k) ),        g_i = s_{t_i + k}
    L_π = − E [ min_j f_j(s, π(s, ψ), g) ] / E|f| − α E [ log π(a | s, ψ) ]

Each transition is compared with every goal of the batch: B² scores for each head. They are never in
memory all at once; see `contrast`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from msgspec import Meta
from torch import Tensor, nn
from torch.nn import functional as F

from goalsets.condition import Conditioner
from goalsets.learners.base import (
    LEARNERS,
    Learner,
    Metrics,
    Problem,
    summary,
)
from goalsets.learners.settings import Settings
from goalsets.nets import MLP, log_likelihood
from goalsets.relabel.batch import ACTOR, VALUE, Batch, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS


@dataclass(frozen=True)
class CRLConfig(Settings):
    """The settings of CRL."""

    alpha: Annotated[float, Meta(ge=0, le=10**6)] = 0.1
    """α: the weight of imitation."""
    latent_dim: Annotated[int, Meta(ge=1, le=8192)] = 256
    """d: the dimension of the codes of states and goals."""
    layers: Annotated[int, Meta(ge=0, le=64)] = 3
    """Hidden layers of φ and ψ."""
    state_in_goal: bool = False
    """Whether ψ sees the current state, as in the released code. Negatives can then be recognised
    without the goal."""


@LEARNERS.register("crl")
class CRL(Learner):
    """See the module's docstring."""

    Config = CRLConfig
    config: CRLConfig
    paper_alpha = {"play": 3.0, "noisy": 0.1, "pointmaze": 0.03}  # noqa: RUF012 - constant
    presets = {  # noqa: RUF012 - declared, and never changed
        "released": {"settings": {"state_in_goal": True}},
        "cpu": {
            "steps": 2_000,
            "batch_size": 1024,
            "learning_rate": 2e-3,
            "weight_decay": 0.5,
            "settings": {"alpha": 1.0},
        },
        # A step takes long, so the batch is small.
        "small": {"batch_size": 256, "settings": {"alpha": 3.0}},
    }
    distance_unit = "a score, lower is nearer"

    def __init__(self, problem: Problem, conditioner: Conditioner, config: CRLConfig) -> None:
        """Create the actor and the two encoders of the critic."""
        super().__init__(problem, conditioner, config)
        pair_dim = problem.state_dim + problem.action_dim
        goal_dim = self.goal_dim if config.state_in_goal else conditioner.goal_dim
        self.phi = Encoder(pair_dim, config.latent_dim, config.layers, problem.hidden)
        self.psi = Encoder(goal_dim, config.latent_dim, config.layers, problem.hidden)

    @classmethod
    def batch_spec(cls, config: CRLConfig) -> BatchSpec:
        """Future goals for critic and actor; negatives come from the batch itself."""
        del config
        return BatchSpec({VALUE: ACTOR_GOALS, ACTOR: ACTOR_GOALS})

    def encode_goals(
        self, states: Tensor, references: Tensor, masks: Tensor, frozen: bool = False
    ) -> Tensor:
        """ψ of the goals, `[2, B, d]`."""
        if self.config.state_in_goal:
            return self.psi(self.conditioner(states, references, masks), frozen)
        return self.psi(self.conditioner.goal_input(references, masks), frozen)

    def critic_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Distinguish each transition's goal from those of the others."""
        pairs = torch.cat((batch.states, batch.actions), dim=-1)
        phi = self.phi(pairs)
        goals = batch.goals[VALUE]
        psi = self.encode_goals(batch.states, goals.references, goals.masks)
        loss, correct = contrast(phi, psi)
        return loss, summary("critic", {"loss": loss, "accuracy": correct})

    def actor_loss(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """Maximise the critic and stay near the data."""
        goals = batch.goals[ACTOR]
        z = self.condition(batch.states, goals)
        means = self.actor(batch.states, z)
        pairs = torch.cat((batch.states, self.clamp(means)), dim=-1)
        phi = self.phi(pairs, frozen=True)
        with torch.no_grad():
            psi = self.encode_goals(batch.states, goals.references, goals.masks)
        scores = ((phi * psi).sum(-1) / math.sqrt(self.config.latent_dim)).amin(0)
        climb = -scores.mean() / (scores.detach().abs().mean() + 1e-6)
        likelihood = log_likelihood(means, batch.actions)
        imitate = -self.config.alpha * likelihood.mean()
        shown = {"loss": climb + imitate, "climb": climb, "imitate": imitate}
        return climb + imitate, summary("actor", {**shown, "likelihood": likelihood.mean()})

    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The critic's loss and the actor's."""
        critic_loss, critic_metrics = self.critic_loss(batch)
        actor_loss, actor_metrics = self.actor_loss(batch)
        return critic_loss + actor_loss, {**critic_metrics, **actor_metrics}

    def distance(self, states: Tensor, goals: Tensor, masks: Tensor) -> Tensor:
        """A score without a unit: − min_j f_j(s, π(s, ψ), g). Lower is nearer."""
        z = self.conditioner(states, goals, masks)
        pairs = torch.cat((states, self.clamp(self.mean_action(states, z))), dim=-1)
        psi = self.encode_goals(states, goals, masks)
        return -((self.phi(pairs) * psi).sum(-1) / math.sqrt(self.config.latent_dim)).amin(0)


class Encoder(nn.Module):
    """Two MLPs, each followed by a layer norm: `[B, n]` gives `[2, B, d]`."""

    def __init__(self, in_dim: int, latent_dim: int, layers: int, hidden: int) -> None:
        """Create both MLPs."""
        super().__init__()
        self.net = MLP(2, in_dim, latent_dim, layers, hidden)

    def forward(self, x: Tensor, frozen: bool = False) -> Tensor:
        """Encode."""
        y = self.net(x[None], frozen)
        return F.layer_norm(y, y.shape[-1:])


def contrast(phi: Tensor, psi: Tensor) -> tuple[Tensor, Tensor]:
    """Binary noise contrastive loss of `[E, B, d]` against `[E, B, d]`, and the accuracy.

    Returns:
        The loss, and the share of transitions whose own goal scores highest.
    """
    losses, accuracies, *_ = _Contrast.apply(phi, psi)  # pyright: ignore[reportGeneralTypeIssues]
    return losses.mean(), accuracies.mean()


_SLICE = 1 << 23
"""Scores of one slice. Smaller slices fit into the cache, but update the gradient of ψ more
often."""


class _Contrast(torch.autograd.Function):
    """Loss and accuracy of each head, `[E]`, and gradients, in one pass over the B × B scores.

    The gradient of BCE needs the scores only once: d L / d f = (σ(f) − 1(i = k)) / B². So the
    scores of each slice of rows are computed, turned into their gradient in place, and multiplied.
    A batch of 8192 then needs 64 MB at a time instead of gigabytes. Heads are independent, so under
    `torch.func.vmap` the heads of several learners are simply more heads.
    """

    @staticmethod
    def forward(phi: Tensor, psi: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        members, batch, dim = phi.shape
        scale = 1.0 / math.sqrt(dim)
        totals, correct = phi.new_zeros(2, members)
        grad_phi, grad_psi = torch.empty_like(phi), torch.zeros_like(psi)
        rows = max(1, _SLICE // batch)
        # All slices reuse this memory: allocating it would take as long as the products.
        scores, spare = phi.new_empty(2, min(rows, batch), batch)
        for member in range(members):
            scaled = psi[member] * scale
            for start in range(0, batch, rows):
                part = phi[member, start : start + rows]
                own = torch.arange(len(part), device=phi.device)
                f = torch.mm(part, scaled.T, out=scores[: len(part)])
                positives = f[own, start + own]
                correct[member] += (positives >= f.amax(1)).sum()
                # Σ softplus(f) over all pairs, minus f of the true pairs.
                softplus = torch.ops.aten.softplus.out(f, out=spare[: len(part)])
                totals[member] += softplus.sum() - positives.sum()
                gradient = f.sigmoid_()
                gradient[own, start + own] -= 1.0
                torch.mm(gradient, psi[member], out=grad_phi[member, start : start + rows])
                grad_psi[member].addmm_(gradient.T, part)
        pairs = batch * batch
        grad_phi.mul_(scale / pairs)
        grad_psi.mul_(scale / pairs)
        return totals / pairs, correct / batch, grad_phi, grad_psi

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ANN401, ARG004
        ctx.save_for_backward(*output[2:])
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
        return tuple(grads[0][:, None, None] * grad for grad in ctx.saved_tensors)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, int], *inputs: Tensor) -> tuple[Any, Any]:  # noqa: ANN401
        heads = [x.movedim(dim, 0).flatten(0, 1) for x, dim in zip(inputs, in_dims, strict=True)]
        outputs: Any = _Contrast.apply(*heads)
        return tuple(x.unflatten(0, (info.batch_size, -1)) for x in outputs), (0,) * len(outputs)
