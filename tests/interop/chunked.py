"""A policy that decides three actions at once, and says in them what it was asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalsets import Group, StateLayout
from goalsets.core.acting import ActionQueue
from goalsets.core.inputs import InputReader

LAYOUT = StateLayout(
    4,
    [Group("pos", range(2), tolerance=0.1), Group("angle", (2, 3), tolerance=0.1)],
    task="pos",
)


class Chunked:
    """Actions are [first goal coordinate that is asked for, first state coordinate, number]."""

    layout = LAYOUT
    answers = "any question"
    distance_unit = None

    def __init__(self, executed: int = 3) -> None:
        self.executed = executed
        self.decisions = 0
        self._reader = InputReader(LAYOUT)

    def hears(self, query: Any) -> np.ndarray:
        return self._reader.mask(query)

    def reset(self) -> ActionQueue | None:
        return ActionQueue(self.executed) if self.executed > 1 else None

    def act(self, observation: Any, goal: Any, query: Any, *, rng: Any = None, memory: Any = None):
        asked = self._reader.read(observation, goal, query)
        states, goals, masks = asked.each_row()

        def decide(rows: np.ndarray) -> np.ndarray:
            self.decisions += 1
            told = np.where(masks, goals, 0).sum(1)
            return np.stack(
                [np.stack((told, states[:, 0], np.full(len(told), k)), 1) for k in range(3)], 1
            )[rows].astype(np.float32)

        queue = memory if memory is not None else ActionQueue(self.executed)
        found = queue.next(goals, masks, decide)
        return found[0] if asked.single else found

    def distance(self, observation: Any, goal: Any, query: Any) -> np.ndarray:
        raise NotImplementedError
