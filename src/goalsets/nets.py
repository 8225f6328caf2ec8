"""Networks: the goal-conditioned MLP of the paper's appendix G, single or as an ensemble.

A network maps a state input x and a goal input z to an output y:

    h = LayerNorm(f_goal(z)),    y = f_out([x, h])

with GELU, hidden width 256, two hidden layers in f_goal and four in f_out, Xavier-uniform weights
and zero biases. An *ensemble* stacks the weights of E networks, so that a layer of all of them is
one batched product. A network can be called *frozen*: gradients then flow to its inputs but not to
its weights. An actor that maximises a critic needs this.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr
from torch import Tensor, nn
from torch.nn import functional as F

HIDDEN = 256
GOAL_LAYERS = 2
TRUNK_LAYERS = 4


class Dense(nn.Module):
    """The weights of a linear layer for each of E networks: `[E, out, in]` and `[E, 1, out]`."""

    def __init__(self, ensemble: int, in_dim: int, out_dim: int) -> None:
        """Draw Xavier-uniform weights for each network, and zero biases."""
        super().__init__()
        bound = math.sqrt(6.0 / (in_dim + out_dim))
        self.weight: nn.Parameter = nn.Parameter(
            torch.empty(ensemble, out_dim, in_dim).uniform_(-bound, bound)
        )
        self.bias: nn.Parameter = nn.Parameter(torch.zeros(ensemble, 1, out_dim))


class MLP(nn.Module):
    """Hidden layers with GELU, then a linear one, for each of E networks.

    Attributes:
        dtype: The type in which layers are computed, see `compute_in`; None is the type of the
            input. If the output is a final result, the last layer is always computed in the type
            of the input: in bfloat16, a value of −60 could not distinguish one step from the next.
    """

    dtype: torch.dtype | None = None
    answers = True
    """Whether the output is a final result, not the input of another network."""

    def __init__(
        self, ensemble: int, in_dim: int, out_dim: int, layers: int, hidden: int = HIDDEN
    ) -> None:
        """Create `layers` hidden layers and the output layer."""
        super().__init__()
        widths = [in_dim, *[hidden] * layers, out_dim]
        self.layers: nn.ModuleList = nn.ModuleList(
            Dense(ensemble, *pair) for pair in itertools.pairwise(widths)
        )

    @property
    def last(self) -> Dense:
        """The output layer."""
        layer = self.layers[-1]
        assert isinstance(layer, Dense)
        return layer

    def forward(self, x: Tensor, frozen: bool = False) -> Tensor:
        """`[E or 1, B, in]` gives `[E, B, out]`."""
        weights = [p.detach() if frozen else p for p in self.parameters()]
        if len(x) < len(weights[0]):  # one input for all networks
            x = x.expand(len(weights[0]), -1, -1)
        exact, rough = x.dtype, self.dtype or x.dtype
        x = x.to(rough)
        for weight, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            x = F.gelu(torch.baddbmm(bias.to(rough), x, weight.to(rough).mT))
        last = exact if self.answers else rough
        return torch.baddbmm(weights[-1].to(last), x.to(last), weights[-2].to(last).mT).to(exact)


def compute_in(module: nn.Module, dtype: torch.dtype | None) -> None:
    """Set the type in which all networks of a module compute their hidden layers.

    None is the type of the inputs. The weights keep their type. Computations outside the networks,
    such as differences between a state and a goal, do not change.
    """
    for each in module.modules():
        if isinstance(each, MLP):
            each.dtype = dtype


class GoalMLP(nn.Module):
    """E goal-conditioned MLPs of one shape.

    Args:
        x_dim: The state input, or state and action.
        z_dim: The goal input.
        out_dim: The output.
        ensemble: E, the number of networks.
        bias: The initial biases of the last layer.
        hidden: The width of hidden layers.
    """

    def __init__(
        self,
        x_dim: int,
        z_dim: int,
        out_dim: int,
        *,
        ensemble: int = 1,
        bias: float = 0.0,
        hidden: int = HIDDEN,
    ) -> None:
        """Create the goal encoder, its norm and the trunk."""
        super().__init__()
        embedding = max(8, z_dim // 2)
        self.encoder: MLP = MLP(ensemble, z_dim, embedding, GOAL_LAYERS, hidden)
        self.encoder.answers = False
        self.scale: nn.Parameter = nn.Parameter(torch.ones(ensemble, 1, embedding))
        self.shift: nn.Parameter = nn.Parameter(torch.zeros(ensemble, 1, embedding))
        self.trunk: MLP = MLP(ensemble, x_dim + embedding, out_dim, TRUNK_LAYERS, hidden)
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
    """Two goal-conditioned scalars: a value of the state, or of state and action."""

    def __init__(self, x_dim: int, z_dim: int, *, bias: float = 0.0, hidden: int = HIDDEN) -> None:
        """Two `GoalMLP`s with one output."""
        super().__init__(x_dim, z_dim, 1, ensemble=2, bias=bias, hidden=hidden)

    def forward(self, x: Tensor, z: Tensor, frozen: bool = False) -> Tensor:
        """Inputs `[B, x]` and `[B, z]` give `[2, B]`."""
        return super().forward(x, z, frozen)[..., 0]


class Actor(GoalMLP):
    """The mean of a Gaussian over actions with unit covariance, in standardised units.

    Args:
        state_dim: D.
        z_dim: The goal input.
        action_dim: A.
        hidden: The width of hidden layers.
        seen: Which coordinates of the state it gets beside the goal input; None for all.
    """

    def __init__(
        self,
        state_dim: int,
        z_dim: int,
        action_dim: int,
        hidden: int = HIDDEN,
        seen: NDArray[np.intp] | None = None,
    ) -> None:
        """A `GoalMLP` with an output for each component of the action."""
        super().__init__(state_dim if seen is None else len(seen), z_dim, action_dim, hidden=hidden)
        self.seen = seen

    def forward(self, x: Tensor, z: Tensor, frozen: bool = False) -> Tensor:
        """Inputs `[B, D]` and `[B, z]` give `[B, A]`."""
        return super().forward(_only(x, self.seen), z, frozen)[0]


def _only(x: Tensor, seen: NDArray[np.intp] | None) -> Tensor:
    return x if seen is None else x.index_select(-1, torch.from_numpy(seen).to(x.device))


class QuickActor:
    """A fast `Actor` for inference, which shares the weights of the original.

    For one state, the overhead of calling torch is larger than the computation. So `one` computes
    the same with NumPy in half the time. For many states, torch is faster. There are no gradients.
    """

    def __init__(self, actor: Actor) -> None:
        """Take views of the weights; they follow the actor while its tensors are not replaced."""
        self._seen = actor.seen
        self._encoder, self._trunk = _plain(actor.encoder), _plain(actor.trunk)
        self._norm = (actor.scale.detach()[0, 0], actor.shift.detach()[0, 0])
        self._encoder_arrays, self._trunk_arrays = _arrays(self._encoder), _arrays(self._trunk)
        self._norm_arrays = (self._norm[0].numpy(), self._norm[1].numpy())

    def __call__(self, x: Tensor, z: Tensor) -> Tensor:
        """Inputs `[B, D]` and `[B, z]` give `[B, A]`."""
        scale, shift = self._norm
        h = F.layer_norm(_run_plain(self._encoder, z), scale.shape, scale, shift)
        return _run_plain(self._trunk, torch.cat((_only(x, self._seen), h), dim=-1))

    def one(self, x: _Floats, z: _Floats) -> _Floats:
        """Inputs `[D]` and `[z]` give `[A]`."""
        h = _run_arrays(self._encoder_arrays, z)
        h -= np.add.reduce(h) / len(h)
        h /= math.sqrt(float(h @ h) / len(h) + _LAYER_NORM_EPSILON)
        scale, shift = self._norm_arrays
        x = x if self._seen is None else x.take(self._seen)
        return _run_arrays(self._trunk_arrays, np.concatenate((x, h * scale + shift)))


_Floats = NDArray[np.float32]
_Plain = list[tuple[Tensor, Tensor]]
_Arrays = list[tuple[_Floats, _Floats]]
_LAYER_NORM_EPSILON = 1e-5
"""The number that torch's layer norm adds to the variance."""


def _pairs(mlp: MLP) -> Iterator[tuple[Tensor, Tensor]]:
    parameters = list(mlp.parameters())
    return zip(parameters[::2], parameters[1::2], strict=True)


def _plain(mlp: MLP) -> _Plain:
    """The weights `[out, in]` and biases `[out]` of an ensemble of one."""
    return [(w.detach()[0], b.detach()[0, 0]) for w, b in _pairs(mlp)]


def _arrays(layers: _Plain) -> _Arrays:
    return [(w.numpy(), b.numpy()) for w, b in layers]


def _run_plain(layers: _Plain, x: Tensor) -> Tensor:
    for weight, bias in layers[:-1]:
        x = torch.ops.aten.gelu_(F.linear(x, weight, bias))
    return F.linear(x, *layers[-1])


def _run_arrays(layers: _Arrays, x: _Floats) -> _Floats:
    """`_run_plain` for one row."""
    for weight, bias in layers[:-1]:
        x = weight @ x
        x += bias
        x *= ndtr(x)  # GELU(x) = x Φ(x)
    weight, bias = layers[-1]
    return weight @ x + bias


def log_likelihood(means: Tensor, actions: Tensor) -> Tensor:
    """Log-density of actions `[B, A]` under a Gaussian of unit covariance: `[B]`."""
    normaliser = 0.5 * math.log(2 * math.pi) * actions.shape[-1]
    return -0.5 * (actions - means).square().sum(-1) - normaliser
