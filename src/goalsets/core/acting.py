"""The protocol of policies, and the memory of a policy that decides several actions at once.

Rollouts, suites, the server, exports and the playground use a policy only through this protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core.inputs import QueryLike
from goalsets.core.layout import StateLayout

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]
STEPS = "steps"
"""The unit of a distance that counts steps."""
Memory = Any
"""What a policy remembers of an episode. The policy defines it and the caller keeps it."""


class Policy(Protocol):
    """Acts towards goal sets, and predicts how far they are.

    A policy itself remembers nothing, so one policy serves many episodes at once. A policy that
    needs a memory of the episode returns one from `reset`; the caller passes it to each `act`.
    """

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        ...

    @property
    def answers(self) -> str:
        """Which questions it answers, as text for people."""
        ...

    @property
    def distance_unit(self) -> str | None:
        """The unit of its distance; None if it learns no distance."""
        ...

    def hears(self, query: QueryLike) -> Masks:
        """Which coordinates of a goal the policy sees under this query: `[D]` or `[B, D]`."""
        ...

    def reset(self) -> Memory | None:
        """A memory for a new episode; None for policies that need none."""
        ...

    def act(
        self,
        observation: ArrayLike,
        goal: ArrayLike,
        query: QueryLike,
        *,
        rng: np.random.Generator | None = None,
        memory: Memory | None = None,
    ) -> Floats:
        """Choose actions, in the environment's units.

        Args:
            observation: `[D]`, or `[B, D]` for many at once.
            goal: The reference, `[D]` or `[B, D]`.
            query: Text, a `Query`, or a mask `[D]` or `[B, D]`.
            rng: For policies that sample; without it they take their most likely action.
            memory: The memory of the episode, from `reset`. Without it, every call begins an
                episode.

        Returns:
            `[A]` or `[B, A]`.
        """
        ...

    def distance(self, observation: ArrayLike, goal: ArrayLike, query: QueryLike) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`, in `distance_unit`.

        Raises:
            GoalsetsError: It learns no distance.
        """
        ...


class ActionQueue:
    """Actions that were decided at once and are taken one after another.

    A row gets a new decision when its actions are used up, or when its goal or query changes.

    Args:
        length: How many actions of a decision are taken before the next decision.
    """

    def __init__(self, length: int) -> None:
        """Start without a decision."""
        self._length = length
        self._question: tuple[Floats, Masks] | None = None
        self._actions: Floats = np.zeros((0, 0, 0), dtype=np.float32)
        self._used: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def left(self) -> int:
        """How many actions can be taken before some row needs a new decision."""
        return self._length - int(self._used.max()) if len(self._used) else 0

    def next(
        self, goals: Floats, masks: Masks, decide: Callable[[NDArray[np.int64]], Floats]
    ) -> Floats:
        """The next action of each row.

        Args:
            goals: `[B, D]`.
            masks: `[B, D]`.
            decide: Gives the decisions `[rows, K, A]` of some rows.
        """
        due = self._due(goals, masks)
        if due.any():
            rows = np.flatnonzero(due)
            decided = decide(rows)
            if len(rows) == len(goals):
                self._actions = np.array(decided)
            else:
                self._actions[rows] = decided
            self._used[rows] = 0
            self._question = (np.array(goals), np.array(masks))
        found = self._actions[np.arange(len(goals)), self._used]
        self._used += 1
        return found

    def _due(self, goals: Floats, masks: Masks) -> Masks:
        if self._question is None or self._question[0].shape != goals.shape:
            self._used = np.zeros(len(goals), dtype=np.int64)
            return np.ones(len(goals), dtype=np.bool_)
        before_goals, before_masks = self._question
        # Only the coordinates of the query are part of the question.
        other = (masks != before_masks) | ((goals != before_goals) & masks)
        return (self._used >= self._length) | other.any(axis=1)
