"""A policy as one traced module: raw states in, raw actions and distances out."""

from __future__ import annotations

import copy
import warnings

import torch
from torch import Tensor, nn

from goalsets.data.normaliser import Normaliser
from goalsets.learners import Learner
from goalsets.nets import Actor, QuickActor

INPUTS = ("observation", "goal", "query")


class WholePolicy(nn.Module):
    """All that `Policy` does, as tensors: standardising, conditioning, acting, and clamping."""

    state_mean: Tensor
    state_std: Tensor
    action_mean: Tensor
    action_std: Tensor

    def __init__(self, learner: Learner, normaliser: Normaliser) -> None:
        """Take a copy of the learner, with its actor stripped for acting."""
        super().__init__()
        self.learner = copy.deepcopy(learner).eval()
        self.learner.actor = _Stripped(self.learner.actor)  # pyright: ignore[reportAttributeAccessIssue]
        for name in ("state_mean", "state_std", "action_mean", "action_std"):
            self.register_buffer(name, torch.from_numpy(getattr(normaliser, name)))

    def forward(self, observation: Tensor, goal: Tensor, query: Tensor) -> tuple[Tensor, ...]:
        """States and references `[B, D]` and masks `bool[B, D]` give actions and distances."""
        states = (observation - self.state_mean) / self.state_std
        goals = (goal - self.state_mean) / self.state_std
        z = self.learner.conditioner(states, goals, query)
        actions = self.learner.actor(states, z) * self.action_std + self.action_mean
        steps = self.learner.distance(states, z)
        actions = torch.clamp(actions, -1.0, 1.0)
        return (actions,) if steps is None else (actions, steps)


class _Stripped(nn.Module):
    """An actor whose weights have no dimension for an ensemble of one."""

    def __init__(self, actor: Actor) -> None:
        super().__init__()
        self._quick = QuickActor(actor)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        return self._quick(x, z)


def trace(learner: Learner, normaliser: Normaliser) -> torch.export.ExportedProgram:
    """Trace a policy for any batch size."""
    whole = WholePolicy(learner, normaliser)
    rows = torch.export.Dim("batch", min=1)
    # Neither 0 nor 1, which tracing would take for fixed.
    states = torch.zeros(2, len(normaliser.state_mean))
    example = (states, states.clone(), torch.ones_like(states, dtype=torch.bool))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch speaks to itself of what it will change
        program = torch.export.export(whole, example, dynamic_shapes=({0: rows},) * 3, strict=False)
        # In-place operations become plain ones; layers stay layers.
        return program.run_decompositions({})
