"""The base of all learners: networks, the form of a batch, losses, and a way to act.

A learner does not know the scheme. Its conditioner turns states, references and queries into goal
inputs, and the learner sees only these. Other code does not test which learner it has: a learner
declares everything that others need to know.
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
    """What a learner must know about its data."""

    state_dim: int
    action_dim: int
    horizon: int
    """H_max: how many steps ahead a goal may be."""
    action_low: Tensor
    """`[A]`: the environment's smallest actions, standardised."""
    action_high: Tensor
    """`[A]`: the environment's largest actions, standardised."""
    hidden: int = HIDDEN
    """The width of hidden layers."""


@dataclass(frozen=True)
class ParameterGroup:
    """Parameters that are optimised with the same settings."""

    parameters: Sequence[nn.Parameter]
    rate: float = 1.0
    """Their learning rate, as a multiple of the run's."""
    decayed: bool = True
    """Whether the run's weight decay applies to them."""


class Learner(nn.Module):
    """Base of all learners. By default, a learner acts with one Gaussian actor.

    Attributes:
        Config: The learner's settings, a frozen dataclass.
        paper_alpha: The paper's coefficient α of policy extraction, by kind of data.
        presets: For each preset, the fields of a training configuration that this learner changes;
            other fields are the same for all learners.
        distance_unit: The unit of its distance; None for learners without a distance.
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
        """Create the actor; subclasses add values and critics."""
        super().__init__()
        self.config: Any = config
        self.problem = problem
        self.conditioner = conditioner
        self.goal_dim: int = conditioner.dim
        # Buffers move with the learner to its device. They are not saved: the frame has them.
        self.register_buffer("_low", problem.action_low, persistent=False)
        self.register_buffer("_high", problem.action_high, persistent=False)
        self._quick: QuickActor | None = None
        self.actor: nn.Module = self.make_actor()

    def make_actor(self) -> nn.Module:
        """Create the policy network; by default the mean of a Gaussian."""
        return self.gaussian_actor(self.problem.action_dim)

    def gaussian_actor(self, outputs: int) -> Actor:
        """An actor with `outputs` outputs; the conditioner decides which coordinates it sees."""
        problem = self.problem
        return Actor(
            problem.state_dim,
            self.goal_dim,
            outputs,
            hidden=problem.hidden,
            seen=self.conditioner.seen,
        )

    # --- Learning -----------------------------------------------------------------------------

    @classmethod
    def batch_spec(cls, config: Any) -> BatchSpec:  # noqa: ANN401 - the learner's own Config
        """The form of its batches; by default labeled goals for a value, and goals for an actor."""
        del config
        return BatchSpec({VALUE: VALUE_GOALS, ACTOR: ACTOR_GOALS})

    @abstractmethod
    def losses(self, batch: Batch[Tensor]) -> tuple[Tensor, Metrics]:
        """The sum of all losses, and metrics for the log."""

    def parameter_groups(self) -> list[ParameterGroup]:
        """The parameters and their settings; by default all parameters in one group."""
        return [ParameterGroup([p for p in self.parameters() if p.requires_grad])]

    def after_step(self) -> None:
        """Called after every step of the optimiser; target networks are updated here."""

    def condition(self, states: Tensor, goals: Goals[Tensor]) -> Tensor:
        """The goal input for states under their goals."""
        return self.conditioner(states, goals.references, goals.masks)

    def clamp(self, actions: Tensor) -> Tensor:
        """Clamp standardised actions to the bounds of the environment."""
        return torch.clamp(actions, self._low, self._high)

    # --- Acting -------------------------------------------------------------------------------

    @property
    def chunk(self) -> int:
        """K: how many actions it decides at once."""
        return 1

    @property
    def executed(self) -> int:
        """How many of them are taken before the next decision."""
        return self.chunk

    def prepare(self) -> None:
        """Prepare to act; the weights must not be replaced afterwards."""
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
        """Choose actions in standardised states `[B, D]`: `[B, A]`, or `[B, K, A]` for chunks.

        A learner that does not act with one actor overrides this. Without `rng`, the result must
        depend only on the arguments: an export computes this.
        """
        del rng
        return self.mean_action(states, self.conditioner(states, goals, masks))

    def mean_action(self, states: Tensor, z: Tensor) -> Tensor:
        """The actor's output; after `prepare`, computed by the fast actor."""
        return self.actor(states, z) if self._quick is None else self._quick(states, z)

    def reset(self) -> Memory | None:
        """A memory for a new episode; None if none is needed."""
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
            rng: For learners that sample.
            memory: The memory of the episode, from `reset`.
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
"""The prefix of the names of target networks, which are not needed for acting."""


@torch.no_grad()
def follow(target: nn.Module, online: nn.Module, rate: float) -> None:
    """Move a target network towards the online one: θ̄ ← rate θ̄ + (1 − rate) θ."""
    # One call for all tensors: a loop would take as long as a small layer.
    lerp = torch._foreach_lerp_  # pyright: ignore[reportPrivateImportUsage]
    lerp(list(target.parameters()), list(online.parameters()), 1.0 - rate)


def summary(name: str, values: Mapping[str, Tensor]) -> Metrics:
    """Add the name of a part to its metrics; values stay on the device."""
    return {f"{name}/{key}": value.detach() for key, value in values.items()}
