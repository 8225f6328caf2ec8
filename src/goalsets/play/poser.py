"""Compute where things are in a given state: for ghosts, and for dragging them.

One poser serves all sessions of a server. It has its own world, so that posing a goal never changes
an episode.
"""

from __future__ import annotations

import threading
from collections.abc import Collection

import numpy as np

from goalsets.core import Query
from goalsets.envs.adapter import Picture
from goalsets.envs.tasks import Task
from goalsets.play.world import Floats, Frame, World


class Poser:
    """Poses states of a task; safe to call from any thread."""

    def __init__(self, task: Task) -> None:
        """Create a world, and start it, so that it can be posed."""
        self.task = task
        self.world = World(task)
        self._lock = threading.Lock()
        self._official: dict[tuple[int, int], Floats] = {}
        self.official(1, 0)
        adapter = self.world.adapter
        if self.world.physics is None:
            if not adapter.can("draw"):
                raise adapter.cannot("be played with", "draw(observation, goal, query, size)")
        elif not adapter.can("put"):
            raise adapter.cannot("show a goal in the playground", "put(state)")

    def official(self, task_id: int, seed: int) -> Floats:
        """The official goal `[D]` of a task id and seed."""
        with self._lock:
            if (task_id, seed) not in self._official:
                if len(self._official) > 100:
                    self._official.clear()
                self._official[task_id, seed] = self.world.start(task_id, seed)
            return self._official[task_id, seed].copy()

    def pose(self, state: Floats) -> Floats:
        """The joints' positions `[Q]` that show a state `[D]`; empty for worlds without."""
        physics = self.world.physics
        if physics is None:
            return np.zeros(0, dtype=np.float32)
        with self._lock:
            self.world.adapter.put(np.asarray(state, dtype=np.float64))
            return np.array(physics[1].qpos, dtype=np.float32)

    def draw(self, frame: Frame, goal: Floats, query: Query, width: int) -> Picture:
        """A picture of a moment and its goal, by a world that draws itself."""
        with self._lock:
            return self.world.adapter.draw(frame.observation, goal, query, width)

    def follow(self, state: Floats, moved: Collection[str]) -> Floats:
        """An edited state, with the changes that follow from the groups that were moved."""
        with self._lock:
            return self.world.adapter.follow(state, moved)
