"""Batches: relabeled transitions for a learner, as arrays or as tensors.

A learner declares its batch (`BatchSpec`): the names and mixtures of its goals, further states of
the trajectory, and the number of actions. The sampler makes batches of exactly this form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

from goalsets.core import GoalsetsError
from goalsets.relabel.goals import ACTOR_GOALS, GoalMixture

A = TypeVar("A")
B = TypeVar("B")

VALUE, ACTOR = "value", "actor"
"""The names of the goals for values and for actors."""


@dataclass(frozen=True)
class BatchSpec:
    """The form of a learner's batches."""

    goals: Mapping[str, GoalMixture] = field(default_factory=lambda: {ACTOR: ACTOR_GOALS})
    """Goals by name, each with its own mixture, horizon and exponent."""
    later: tuple[int, ...] = ()
    """Further states: for each k the state k steps later, or the episode's last if that is
    sooner."""
    actions: int = 1
    """K: the number of consecutive actions, beginning with the transition's own."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.goals:
            raise GoalsetsError("a batch needs goals under at least one name, got none.")
        if self.actions < 1 or any(k < 1 for k in self.later):
            raise GoalsetsError(
                "a batch needs 1 or more actions, and later states 1 or more steps ahead, got "
                f"{self.actions} and {list(self.later)}."
            )


@dataclass(frozen=True)
class Goals(Generic[A]):
    """A goal set for each transition of a batch."""

    references: A
    """`[B, D]`."""
    masks: A
    """`bool[B, D]`: the queries."""
    steps: A
    """`[B]`: steps along the trajectory to the reference, or, with labels by arrival, to the
    arrival at its goal set; -1 if the reference is not ahead on the same trajectory."""
    labels: tuple[A, A] | None = None
    """`bool[B]` each: c_{g,q}(s_t) and c_{g,q}(s_{t+1}); None if the learner needs no labels."""

    @property
    def at_goal(self) -> A:
        """`bool[B]`: whether s_t belongs to its goal set."""
        return self._labels[0]

    @property
    def next_at_goal(self) -> A:
        """`bool[B]`: whether s_{t+1} does."""
        return self._labels[1]

    @property
    def _labels(self) -> tuple[A, A]:
        if self.labels is None:
            raise GoalsetsError(
                "these goals have no labels: declare them with GoalMixture(labels=True)."
            )
        return self.labels


@dataclass(frozen=True)
class Batch(Generic[A]):
    """Relabeled transitions. States and actions are standardised."""

    states: A
    """`[B, D]`."""
    actions: A
    """`[B, A]`, or `[B, K, A]` for several actions."""
    next_states: A
    """`[B, D]`."""
    goals: Mapping[str, Goals[A]]
    """By name. Values and actors use the same transitions, each with their own goals."""
    later: Mapping[int, A] = field(default_factory=lambda: MappingProxyType(dict[int, A]()))
    """`[B, D]` for each k: s_{t+k}, or the episode's last state if that is sooner."""
    taken: A | None = None
    """`bool[B, K]`: which of several actions were taken before the episode ended."""
    facts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType(dict[str, float]()))
    """Statistics of how it was drawn, for logs."""

    def map(self, change: Callable[[A], B]) -> Batch[B]:
        """The same batch with `change` applied to every array, for example to make tensors."""
        return self.replaced([change(array) for array in self.arrays()])

    def arrays(self) -> list[A]:
        """All arrays, in the order that `replaced` expects."""
        found = [self.states, self.actions, self.next_states]
        for goals in self.goals.values():
            found += [goals.references, goals.masks, goals.steps, *(goals.labels or ())]
        found += list(self.later.values())
        return found if self.taken is None else [*found, self.taken]

    def replaced(self, arrays: list[B]) -> Batch[B]:
        """A batch of this form with other arrays, in the order of `arrays`."""
        rest = iter(arrays)
        states, actions, next_states = next(rest), next(rest), next(rest)
        goals = {
            name: Goals(
                next(rest),
                next(rest),
                next(rest),
                None if own.labels is None else (next(rest), next(rest)),
            )
            for name, own in self.goals.items()
        }
        later = {k: next(rest) for k in self.later}
        taken = None if self.taken is None else next(rest)
        return Batch(states, actions, next_states, goals, later, cast(Any, taken), self.facts)
