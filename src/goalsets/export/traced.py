"""A policy as one traced module: raw states in, raw actions and distances out."""

from __future__ import annotations

import copy
import warnings

import torch
from torch import Tensor, nn

from goalsets.data.normaliser import Normaliser
from goalsets.policy import TrainedPolicy

INPUTS = ("observation", "goal", "query")


class WholePolicy(nn.Module):
    """All computations of a `TrainedPolicy` on tensors, from standardising to bounds."""

    state_mean: Tensor
    state_std: Tensor
    action_mean: Tensor
    action_std: Tensor
    action_low: Tensor
    action_high: Tensor
    is_switch: Tensor
    off: Tensor
    middle: Tensor
    on: Tensor

    def __init__(self, policy: TrainedPolicy, normaliser: Normaliser) -> None:
        """Copy the learner, and make it ready to act."""
        super().__init__()
        self.learner = copy.deepcopy(policy.learner)
        for name in ("state_mean", "state_std", "action_mean", "action_std"):
            self.register_buffer(name, torch.from_numpy(getattr(normaliser, name)))
        self.register_buffer("action_low", torch.from_numpy(policy.bounds.low))
        self.register_buffer("action_high", torch.from_numpy(policy.bounds.high))
        self.has_switches = bool(policy.bounds.switches)
        if self.has_switches:
            for name in ("is_switch", "off", "middle", "on"):
                self.register_buffer(name, torch.from_numpy(getattr(policy.bounds.snapping, name)))

    def forward(self, observation: Tensor, goal: Tensor, query: Tensor) -> tuple[Tensor, ...]:
        """States and references `[B, D]` and masks `bool[B, D]` give actions and distances."""
        states = (observation - self.state_mean) / self.state_std
        goals = (goal - self.state_mean) / self.state_std
        actions = self.learner.decide(states, goals, query) * self.action_std + self.action_mean
        actions = torch.clamp(actions, self.action_low, self.action_high)
        if self.has_switches:
            actions = self._snap(actions)
        if self.learner.distance_unit is None:
            return (actions,)
        return actions, self.learner.distance(states, goals, query)

    def _snap(self, actions: Tensor) -> Tensor:
        """As `goalsets.data.switches.Snapping` does with arrays."""
        below = self.is_switch & (actions < self.middle)
        above = self.is_switch & (actions >= self.middle)
        return torch.where(below, self.off, torch.where(above, self.on, actions))


def trace(policy: TrainedPolicy, normaliser: Normaliser) -> torch.export.ExportedProgram:
    """Trace a policy for any batch size."""
    whole = WholePolicy(policy, normaliser)
    rows = torch.export.Dim("batch", min=1)
    # Tracing would treat a batch size of 0 or 1 as fixed.
    states = torch.zeros(2, len(normaliser.state_mean))
    example = (states, states.clone(), torch.ones_like(states, dtype=torch.bool))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch announces future changes of its own
        program = torch.export.export(whole, example, dynamic_shapes=({0: rows},) * 3, strict=False)
        # In-place operations become plain ones; layers stay layers.
        return program.run_decompositions({})
