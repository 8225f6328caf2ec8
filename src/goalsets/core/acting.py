"""What everything that acts offers, and the memory of one that decides several actions at once.

Rollouts, suites, the server, exports and the playground know a policy by this protocol and by
nothing else.
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
"""What a policy remembers of an episode: its own business, and the caller's to keep."""


class Policy(Protocol):
    """Acts towards goal sets, and tells how far they are.

    A policy itself remembers nothing: one serves many episodes at once. What must be remembered
    along an episode is a memory that the caller gets from `reset` and hands to each `act`.
    """

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        ...

    @property
    def answers(self) -> str:
        """What it answers, for people: any question, or only some."""
        ...

    @property
    def distance_unit(self) -> str | None:
        """What its distance counts; None if it learns none."""
        ...

    def hears(self, query: QueryLike) -> Masks:
        """Which coordinates of a goal it is shown when it is asked this: `[D]` or `[B, D]`."""
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
            rng: For policies that draw; without it they take their likeliest action.
            memory: Of the episode, from `reset`. Without it every call begins an episode.

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

    Rows are decided anew when their actions are used up, and when their goal or query changes: what
    was decided for another question is dropped.

    Args:
        length: How many actions of a decision are taken before the next.
    """

    def __init__(self, length: int) -> None:
        """Nothing has been decided yet."""
        self._length = length
        self._question: tuple[Floats, Masks] | None = None
        self._actions: Floats = np.zeros((0, 0, 0), dtype=np.float32)
        self._used: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def left(self) -> int:
        """How many actions can be taken before some row is decided anew."""
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
        # Only what a query looks at is part of the question.
        other = (masks != before_masks) | ((goals != before_goals) & masks)
        return (self._used >= self._length) | other.any(axis=1)
