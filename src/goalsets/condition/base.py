"""Conditioning: how a state, a reference and a query become a network's goal input ψ(s, g, q).

    HER-Full    [s, g]
    HER-Task    [φ(s), φ(g)]        φ keeps the task's coordinates
    GS-HER      [s̄, ḡ, q]           s̄ = q ⊙ s + (1 − q) ⊙ e_s,   ḡ = q ⊙ g + (1 − q) ⊙ e_g

The fills e_s and e_g replace inactive coordinates. They are learned (the paper's choice), zero, or
states drawn from the data. Learners, inference and export all use these modules through the same
interface; a conditioner itself says which part of a query its network sees. Conditioners take
tensors or NumPy arrays: for one state, NumPy is much faster.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from goalsets.core import GoalsetsError, Query, Registry, StateLayout
from goalsets.core.metrics import Array, namespace

Fill = Literal["learned", "zero", "random"]

_INITIAL_FILL = 1e-6
"""Learned fills start almost at zero, the mean of standardised coordinates."""


class Conditioner(nn.Module):
    """Base of all conditioners.

    Attributes:
        answers: Which questions a policy with this conditioner answers, as text for people.
        hears_queries: Whether the goal input depends on the query.
        dim: The length of a goal input.
        goal_dim: The length of its part that depends on the goal alone.
        seen: Which coordinates of the state an actor gets beside the goal input; None for all.
    """

    answers: str
    hears_queries: bool
    dim: int
    goal_dim: int
    seen: NDArray[np.intp] | None = None

    @classmethod
    @abstractmethod
    def make(cls, layout: StateLayout, fill: Fill, bank: Tensor | None) -> Conditioner:
        """Create a conditioner for a layout; it may ignore the fill and the bank."""

    @abstractmethod
    def forward(self, states: Array, goals: Array, masks: Array) -> Array:
        """The goal input `[B, dim]` of states, goals and boolean masks `[B, D]`."""

    @abstractmethod
    def goal_input(self, goals: Array, masks: Array) -> Array:
        """The part of the goal input that depends on the goal alone, `[B, goal_dim]`."""

    @abstractmethod
    def heard(self, masks: Array) -> Array:
        """Which coordinates of the goal the network sees under queries, `bool[..., D]`."""

    def reseed(self, seed: int) -> None:
        """Seed the random fill, if there is one; training calls this before each step."""


CONDITIONERS: Registry[type[Conditioner]] = Registry("conditioner")


@CONDITIONERS.register("full")
class FullConditioner(Conditioner):
    """[s, g]: the full state, for every query."""

    answers = "the full state, whatever is asked"
    hears_queries = False

    def __init__(self, state_dim: int) -> None:
        """Take a state's dimension."""
        super().__init__()
        self.dim = 2 * state_dim
        self.goal_dim = state_dim

    @classmethod
    def make(cls, layout: StateLayout, fill: Fill, bank: Tensor | None) -> FullConditioner:
        """Show all coordinates."""
        return cls(layout.dim)

    def heard(self, masks: Array) -> Array:
        """All coordinates."""
        return namespace(masks).ones_like(masks)

    def forward(self, states: Array, goals: Array, masks: Array) -> Array:
        """States and goals `[B, D]` give `[B, 2 D]`."""
        return join(states, self.goal_input(goals, masks))

    def goal_input(self, goals: Array, masks: Array) -> Array:
        """The part that depends on the goal alone: g."""
        del masks
        return goals


@CONDITIONERS.register("task")
class TaskConditioner(Conditioner):
    """[φ(s), φ(g)]: the task's coordinates, for every query."""

    answers = "the task's own question, whatever is asked"
    hears_queries = False
    indices: Tensor

    def __init__(self, indices: Sequence[int]) -> None:
        """Take the coordinates of the task's query."""
        super().__init__()
        if not indices:
            raise GoalsetsError("a task projection needs at least one coordinate.")
        self.dim = 2 * len(indices)
        self.goal_dim = len(indices)
        self.register_buffer("indices", torch.as_tensor(list(indices)))
        self._columns = list(indices)

    @classmethod
    def make(cls, layout: StateLayout, fill: Fill, bank: Tensor | None) -> TaskConditioner:
        """Show the coordinates of the layout's task."""
        return cls(Query.parse("task", layout).indices)

    def heard(self, masks: Array) -> Array:
        """The task's coordinates."""
        # Not by assignment, which cannot be exported.
        flags = np.isin(np.arange(masks.shape[-1]), self._columns)
        if namespace(masks) is torch:
            return torch.zeros_like(masks) | torch.from_numpy(flags).to(masks.device)
        return np.zeros_like(masks) | flags

    def forward(self, states: Array, goals: Array, masks: Array) -> Array:
        """States and goals `[B, D]` give `[B, 2 |φ|]`."""
        return join(states[..., self._columns], self.goal_input(goals, masks))

    def goal_input(self, goals: Array, masks: Array) -> Array:
        """The part that depends on the goal alone: φ(g)."""
        del masks
        return goals[..., self._columns]


@CONDITIONERS.register("goal-set")
class GoalSetConditioner(Conditioner):
    """[s̄, ḡ, q]: state and goal with a fill in inactive coordinates, and the query itself.

    Args:
        state_dim: D.
        fill: The fill of inactive coordinates.
        bank: `[N, D]`, states of the data, for the random fill.
    """

    answers = "any question"
    hears_queries = True
    bank: Tensor

    def __init__(self, state_dim: int, fill: Fill = "learned", bank: Tensor | None = None) -> None:
        """Create the fills."""
        super().__init__()
        self.dim = 3 * state_dim
        self.goal_dim = 2 * state_dim
        self.fill = fill
        if fill == "random":
            if bank is None or bank.ndim != 2 or bank.shape[1] != state_dim:
                raise GoalsetsError(
                    f"a random fill draws from states [N, {state_dim}], got "
                    f"{None if bank is None else list(bank.shape)}."
                )
            self.register_buffer("bank", bank)
            self._generator = torch.Generator()
        else:
            start = torch.zeros(2, state_dim)
            if fill == "learned":
                nn.init.trunc_normal_(start, std=_INITIAL_FILL)
            self.fills = nn.Parameter(start, requires_grad=fill == "learned")

    @classmethod
    def make(cls, layout: StateLayout, fill: Fill, bank: Tensor | None) -> GoalSetConditioner:
        """Show the active coordinates of a query, and a fill elsewhere."""
        return cls(layout.dim, fill, bank)

    def heard(self, masks: Array) -> Array:
        """The coordinates of the query."""
        return masks

    def reseed(self, seed: int) -> None:
        """Seed the random fill."""
        if self.fill == "random":
            self._generator.manual_seed(seed)

    def forward(self, states: Array, goals: Array, masks: Array) -> Array:
        """States, goals and boolean masks `[B, D]` give `[B, 3 D]`."""
        shown = namespace(states).where(masks, states, self._fills(states)[0])
        return join(shown, self.goal_input(goals, masks))

    def goal_input(self, goals: Array, masks: Array) -> Array:
        """The part that depends on the goal alone: [ḡ, q]."""
        xp = namespace(goals)
        shown = xp.where(masks, goals, self._fills(goals)[1])
        numbers = masks.to(goals.dtype) if xp is torch else masks.astype(goals.dtype)
        return join(shown, numbers)

    def _fills(self, states: Array) -> tuple[Array, Array]:
        if not (self.training and self.fill == "random"):
            # Outside training, a random fill is fixed too: equal questions must get equal answers.
            fills = self.bank if self.fill == "random" else self.fills
            if namespace(states) is not torch:
                fills = fills.detach().numpy()
            return fills[0], fills[-1]
        rows = torch.randint(len(self.bank), (2, *states.shape[:-1]), generator=self._generator)
        rows = rows.to(self.bank.device)  # drawn on the CPU, so that all devices draw the same
        return self.bank[rows[0]], self.bank[rows[1]]


def join(*parts: Array) -> Array:
    """Concatenate arrays or tensors along their last axis."""
    # Not torch.concatenate: the export to ONNX knows only torch.cat.
    return torch.cat(parts, -1) if namespace(parts[0]) is torch else np.concatenate(parts, -1)
