"""Networks: the goal-conditioned MLP of the paper's appendix G, one or several at once.

A network maps a state input x and a goal input z to an output y:

    h = LayerNorm(f_goal(z)),    y = f_out([x, h])

with GELU, hidden width 256, two hidden layers in f_goal and four in f_out, Xavier-uniform weights
and zero biases. An *ensemble* stacks the weights of E networks, so that a layer of all of them is
one batched product. A network can be called *frozen*: gradients then flow to its inputs and not to
its weights, which is what an actor that climbs a critic needs.
"""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HIDDEN = 256
GOAL_LAYERS = 2
TRUNK_LAYERS = 4


class Dense(nn.Module):
    """A linear layer for each of E networks: `[E, B, in]` gives `[E, B, out]`."""

    def __init__(self, ensemble: int, in_dim: int, out_dim: int) -> None:
        """Draw Xavier-uniform weights for each network, and zero biases."""
        super().__init__()
        bound = math.sqrt(6.0 / (in_dim + out_dim))
        self.weight = nn.Parameter(torch.empty(ensemble, in_dim, out_dim).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(ensemble, 1, out_dim))

    def forward(self, x: Tensor, frozen: bool = False) -> Tensor:
        """Multiply and add."""
        weight, bias = self.weight, self.bias
        if frozen:
            weight, bias = weight.detach(), bias.detach()
        if len(weight) == 1:  # one network: a plain product is faster than a batch of one
            return torch.addmm(bias[0], x[0], weight[0])[None]
        return torch.baddbmm(bias, x.expand(len(weight), -1, -1), weight)


class MLP(nn.Module):
    """Hidden layers with GELU, then a linear one, for each of E networks."""

    def __init__(
        self, ensemble: int, in_dim: int, out_dim: int, layers: int, hidden: int = HIDDEN
    ) -> None:
        """Create `layers` hidden layers and the output layer."""
        super().__init__()
        widths = [in_dim, *[hidden] * layers, out_dim]
        pairs = itertools.pairwise(widths[:-1])
        self.hidden = nn.ModuleList(Dense(ensemble, before, after) for before, after in pairs)
        self.last = Dense(ensemble, widths[-2], widths[-1])

    def forward(self, x: Tensor, frozen: bool = False) -> Tensor:
        """`[E or 1, B, in]` gives `[E, B, out]`."""
        for layer in self.hidden:
            x = F.gelu(layer(x, frozen))
        return self.last(x, frozen)


class GoalMLP(nn.Module):
    """E goal-conditioned MLPs of one shape.

    Args:
        x_dim: The state input, or state and action.
        z_dim: The goal input.
        out_dim: The output.
        ensemble: E, how many networks.
        bias: Where the outputs start: the last layer's biases.
    """

    def __init__(
        self, x_dim: int, z_dim: int, out_dim: int, ensemble: int = 1, bias: float = 0.0
    ) -> None:
        """Create the goal encoder, its norm and the trunk."""
        super().__init__()
        embedding = max(8, z_dim // 2)
        self.encoder = MLP(ensemble, z_dim, embedding, GOAL_LAYERS)
        self.scale = nn.Parameter(torch.ones(ensemble, 1, embedding))
        self.shift = nn.Parameter(torch.zeros(ensemble, 1, embedding))
        self.trunk = MLP(ensemble, x_dim + embedding, out_dim, TRUNK_LAYERS)
        nn.init.constant_(self.trunk.last.bias, bias)

    def forward(self, x: Tensor, z: Tensor, frozen: bool = False) -> Tensor:
        """Inputs `[B, x]` and `[B, z]` give `[E, B, out]`."""
        h = self.encoder(z[None], frozen)
        h = F.layer_norm(h, h.shape[-1:])
        scale, shift = self.scale, self.shift
        if frozen:
            scale, shift = scale.detach(), shift.detach()
        h = torch.addcmul(shift, h, scale)
        x = x.expand(len(h), -1, -1)
        return self.trunk(torch.cat((x, h), dim=-1), frozen)


class Scalar(GoalMLP):
    """E goal-conditioned scalars: a value of the state, or of state and action."""

    def __init__(self, x_dim: int, z_dim: int, ensemble: int = 2, bias: float = 0.0) -> None:
        """A `GoalMLP` with one output."""
        super().__init__(x_dim, z_dim, 1, ensemble, bias)

    def forward(self, x: Tensor, z: Tensor, frozen: bool = False) -> Tensor:
        """Inputs `[B, x]` and `[B, z]` give `[E, B]`."""
        return super().forward(x, z, frozen)[..., 0]


class Actor(GoalMLP):
    """The mean of a Gaussian over actions with unit covariance, in standardised units."""

    def __init__(self, state_dim: int, z_dim: int, action_dim: int) -> None:
        """A `GoalMLP` with an output for each component of the action."""
        super().__init__(state_dim, z_dim, action_dim)

    def forward(self, x: Tensor, z: Tensor, frozen: bool = False) -> Tensor:
        """Inputs `[B, D]` and `[B, z]` give `[B, A]`."""
        return super().forward(x, z, frozen)[0]


def log_likelihood(means: Tensor, actions: Tensor) -> Tensor:
    """Log-density of actions `[B, A]` under a Gaussian of unit covariance: `[B]`."""
    normaliser = 0.5 * math.log(2 * math.pi) * actions.shape[-1]
    return -0.5 * (actions - means).square().sum(-1) - normaliser
