"""What every learner is: networks, a batch that it asks for, losses over it, and a way to act.

A learner receives conditioned inputs and never asks which scheme made them: its conditioner turns
states, references and queries into goal inputs, and that is all it knows of goals. Nobody outside
asks which learner it is: what others need to know it declares.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from goalsets.condition import Conditioner
from goalsets.core import Registry
from goalsets.core.acting import ActionQueue, Memory
from goalsets.nets import HIDDEN, Actor, QuickActor
from goalsets.relabel.batch import ACTOR, VALUE, Batch, BatchSpec, Goals
from goalsets.relabel.goals import ACTOR_GOALS, VALUE_GOALS

Metrics = dict[str, Tensor]
Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]


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


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that are optimised alike."""

    parameters: Sequence[nn.Parameter]
    rate: float = 1.0
    """Their learning rate, as a multiple of the run's."""
    decayed: bool = True
    """Whether the run's weight decay holds for them."""


class Learner(nn.Module):
    """Base of all learners, with the acting of those that have one Gaussian actor.

    Attributes:
        Config: The learner's settings, a frozen dataclass.
        paper_alpha: The paper's coefficient α of policy extraction, by kind of data.
        presets: Fields of a training configuration that suit this learner, by preset; what a
            preset has no entry for is the same for all learners.
        distance_unit: What its distance counts; None for learners that learn none.
        problem: The dimensions and limits of the data.
        conditioner: Turns (state, reference, query) into a goal input.
        actor: The policy.
    """

    Config: ClassVar[type[Any]]
    paper_alpha: ClassVar[Mapping[str, float]] = {}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    distance_unit: ClassVar[str | None] = None
    _low: Tensor
    _high: Tensor

    def __init__(self, problem: Problem, conditioner: Conditioner, config: object) -> None:
        """Create the actor; subclasses add their values."""
        super().__init__()
        self.config: Any = config
        self.problem = problem
        self.conditioner = conditioner
        self.goal_dim: int = conditioner.dim
        # Buffers move with the learner from device to device; the data's limits are in the frame.
        self.register_buffer("_low", problem.action_low, persistent=False)
        self.register_buffer("_high", problem.action_high, persistent=False)
        self._quick: QuickActor | None = None
        self.actor: nn.Module = self.make_actor()

    def make_actor(self) -> nn.Module:
        """Create the policy network: a Gaussian's mean, unless a learner has another."""
        return self.gaussian_actor(self.problem.action_dim)

    def gaussian_actor(self, outputs: int) -> Actor:
        """An actor with so many outputs, which is given the state as its conditioner says."""
        problem = self.problem
        return Actor(
            problem.state_dim,
            self.goal_dim,
            outputs,
            hidden=problem.hidden,
            seen=self.conditioner.seen,
        )

    # --- What it is fed, and how it learns ----------------------------------------------------

    @classmethod
    def batch_spec(cls, config: Any) -> BatchSpec:  # noqa: ANN401 - the learner's own Config
        """What batches it wants; by default goals for a value, labeled, and for an actor."""
        del config
        return BatchSpec({VALUE: VALUE_GOALS, ACTOR: ACTOR_GOALS})

    @abstractmethod
    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The sum of all losses, and what to log."""

    def parameter_groups(self) -> list[ParameterGroup]:
        """What is optimised, and how; by default everything alike."""
        return [ParameterGroup([p for p in self.parameters() if p.requires_grad])]

    def after_step(self) -> None:
        """Called after every step of the optimiser: targets follow here."""

    def condition(self, states: Tensor, goals: Goals[Tensor]) -> Tensor:
        """The goal input for states under their goals."""
        return self.conditioner(states, goals.references, goals.masks)

    def clamp(self, actions: Tensor) -> Tensor:
        """Keep standardised actions within what the environment takes."""
        return torch.clamp(actions, self._low, self._high)

    # --- How it acts --------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        """K: how many actions it decides at once."""
        return 1

    @property
    def executed(self) -> int:
        """How many of them are taken before it decides again."""
        return self.chunk

    def prepare(self) -> None:
        """Get ready to act, once the weights stay where they are."""
        self.eval()
        if isinstance(self.actor, Actor):
            self._quick = QuickActor(self.actor)

    def decide(
        self,
        states: Tensor,
        goals: Tensor,
        masks: Tensor,
        *,
        rng: np.random.Generator | None = None,
    ) -> Tensor:
        """Decide in states `[B, D]`, all standardised: `[B, A]`, or `[B, K, A]` for a chunk of K.

        A learner that acts otherwise than by one actor overrides this. Without `rng` the answer
        must depend on the arguments alone: that is what an export computes.
        """
        del rng
        return self.mean_action(states, self.conditioner(states, goals, masks))

    def mean_action(self, states: Tensor, z: Tensor) -> Tensor:
        """What the actor says, by the shorter way once the learner is ready to act."""
        return self.actor(states, z) if self._quick is None else self._quick(states, z)

    def reset(self) -> Memory | None:
        """A memory for a new episode; None where none is needed."""
        return ActionQueue(self.executed) if self.chunk > 1 else None

    def act(
        self,
        states: Floats,
        goals: Floats,
        masks: Masks,
        *,
        rng: np.random.Generator | None = None,
        memory: Memory | None = None,
    ) -> Floats:
        """Choose standardised actions `[A]` in a state `[D]`, or `[B, A]` in many.

        Args:
            states: `[D]` or `[B, D]`, standardised.
            goals: Of the same shape.
            masks: Of the same shape.
            rng: For learners that draw.
            memory: Of the episode, from `reset`.
        """
        if states.ndim == 1:
            if self._quick is not None and type(self).decide is Learner.decide:
                return self._quick.one(states, self.conditioner(states, goals, masks))
            return self.act(states[None], goals[None], masks[None], rng=rng, memory=memory)[0]
        if self.chunk == 1:
            return self._decided(states, goals, masks, rng)
        queue = memory if memory is not None else ActionQueue(self.executed)
        return queue.next(
            goals,
            self.conditioner.heard(masks),
            lambda rows: self._decided(states[rows], goals[rows], masks[rows], rng),
        )

    def _decided(
        self, states: Floats, goals: Floats, masks: Masks, rng: np.random.Generator | None
    ) -> Floats:
        with torch.inference_mode():
            tensors = (torch.from_numpy(np.array(a)) for a in (states, goals, masks))
            return self.decide(*tensors, rng=rng).numpy()

    def distance(self, states: Tensor, goals: Tensor, masks: Tensor) -> Tensor:
        """Predict how far goal sets are, `[B]`, in `distance_unit`; all inputs `[B, D]`."""
        raise NotImplementedError(f"{type(self).__name__} declares no distance_unit.")


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
