"""What every learner is: networks, losses over a batch, and something to do after each step.

A learner receives conditioned inputs and never asks which scheme made them: its conditioner turns
states, references and queries into goal inputs, and that is all it knows of goals.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from goalsets.core import Registry
from goalsets.nets import HIDDEN, Actor
from goalsets.relabel.sampler import Batch

Metrics = dict[str, Tensor]


@dataclass(frozen=True)
class GoalTensors:
    """`goalsets.relabel.sampler.Goals` as tensors."""

    references: Tensor
    masks: Tensor
    steps: Tensor


@dataclass(frozen=True)
class BatchTensors:
    """`goalsets.relabel.sampler.Batch` as tensors."""

    states: Tensor
    actions: Tensor
    next_states: Tensor
    value_goals: GoalTensors
    actor_goals: GoalTensors
    at_goal: Tensor
    next_at_goal: Tensor

    @classmethod
    def of(cls, batch: Batch, device: torch.device | str = "cpu") -> BatchTensors:
        """Turn arrays into tensors; on the CPU they share their memory."""

        def tensor(array: Any) -> Tensor:  # noqa: ANN401 - any array
            return torch.from_numpy(array).to(device)

        value, actor = batch.value_goals, batch.actor_goals
        return cls(
            states=tensor(batch.states),
            actions=tensor(batch.actions),
            next_states=tensor(batch.next_states),
            value_goals=GoalTensors(
                tensor(value.references), tensor(value.masks), tensor(value.steps)
            ),
            actor_goals=GoalTensors(
                tensor(actor.references), tensor(actor.masks), tensor(actor.steps)
            ),
            at_goal=tensor(batch.at_goal),
            next_at_goal=tensor(batch.next_at_goal),
        )


@dataclass(frozen=True)
class Problem:
    """What a learner must know of the data it learns from."""

    state_dim: int
    action_dim: int
    horizon: int
    """H_max: how many steps ahead a goal may lie."""
    action_low: Tensor
    """`[A]`: the environment's smallest actions, standardised."""
    action_high: Tensor
    """`[A]`: the environment's largest actions, standardised."""
    hidden: int = HIDDEN
    """The width of hidden layers."""


class Learner(nn.Module):
    """Base of all learners.

    Attributes:
        Config: The learner's settings, a frozen dataclass.
        value_mixture: Shares of current, future and random goals for values and critics; None
            for learners that have neither.
        problem: The dimensions and limits of the data.
        conditioner: Turns (state, reference, query) into a goal input.
        actor: The policy.
    """

    Config: ClassVar[type[Any]]
    _low: Tensor
    _high: Tensor
    value_mixture: ClassVar[tuple[float, float, float] | None] = (0.2, 0.5, 0.3)

    def __init__(self, problem: Problem, conditioner: nn.Module, config: object) -> None:
        """Create the actor; subclasses add their values."""
        super().__init__()
        self.config: Any = config
        self.problem = problem
        self.conditioner = conditioner
        self.goal_dim: int = conditioner.dim  # pyright: ignore[reportAttributeAccessIssue]
        # Buffers move with the learner from device to device; the data's limits are in the frame.
        self.register_buffer("_low", problem.action_low, persistent=False)
        self.register_buffer("_high", problem.action_high, persistent=False)
        self.actor = Actor(
            problem.state_dim, self.goal_dim, problem.action_dim, hidden=problem.hidden
        )

    @abstractmethod
    def losses(self, batch: BatchTensors) -> tuple[Tensor, Metrics]:
        """The sum of all losses, and what to log."""

    def after_step(self) -> None:
        """Called after every step of the optimiser: targets follow here."""

    def condition(self, states: Tensor, goals: GoalTensors) -> Tensor:
        """The goal input for states under their goals."""
        return self.conditioner(states, goals.references, goals.masks)

    def clamp(self, actions: Tensor) -> Tensor:
        """Keep standardised actions within what the environment takes."""
        return torch.clamp(actions, self._low, self._high)

    def distance(self, states: Tensor, z: Tensor) -> Tensor | None:
        """Predicted steps to the goal set, `[B]`, for learners that can tell."""
        del states, z
        return None


LEARNERS: Registry[type[Learner]] = Registry("learner")

TARGET = "target_"
"""How the names of networks begin that only make targets: acting does without them."""


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module, rate: float) -> None:
    """Move a target network towards the online one: θ̄ ← rate θ̄ + (1 − rate) θ."""
    # One call for all tensors: a loop would cost as much as a small layer.
    lerp = torch._foreach_lerp_  # pyright: ignore[reportPrivateImportUsage]
    lerp(list(target.parameters()), list(online.parameters()), 1.0 - rate)


def summary(name: str, values: Mapping[str, Tensor]) -> Metrics:
    """Name metrics after the part they belong to; nothing is read from the device yet."""
    return {f"{name}/{key}": value.detach() for key, value in values.items()}
