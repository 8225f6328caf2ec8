"""Trajectories: episodes of any length, stored end to end in a few large arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Trajectories:
    """Episodes laid end to end, in memory or memory-mapped.

    A *row* is a state. Episode e owns rows `offsets[e]` to `offsets[e + 1] - 1`; the transition
    that starts at a row has its action there and ends at the next row. The last row of an episode
    starts no transition, and its action is a row of zeros that keeps the arrays aligned.
    """

    observations: NDArray[np.float32]
    """`[R, D]`."""
    actions: NDArray[np.float32]
    """`[R, A]`."""
    offsets: Rows
    """`[E + 1]`, from 0 to R."""
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])
    """Each `[R, ...]`, such as `qpos` and `qvel`."""

    @classmethod
    def from_episodes(cls, episodes: list[Episode]) -> Trajectories:
        """Lay a list of episodes end to end in memory."""
        if not episodes:
            raise GoalsetsError("expected at least one episode, got none.")
        offsets = np.cumsum([0, *(len(e.observations) for e in episodes)], dtype=np.int64)
        action_dim = episodes[0].actions.shape[1]
        actions = np.zeros((offsets[-1], action_dim), dtype=np.float32)
        for start, episode in zip(offsets, episodes, strict=False):
            actions[start : start + len(episode)] = episode.actions
        observations = np.concatenate([e.observations for e in episodes])
        extras = {
            name: np.concatenate([e.extras[name] for e in episodes]) for name in episodes[0].extras
        }
        return cls(observations.astype(np.float32, copy=False), actions, offsets, extras)

    @property
    def num_episodes(self) -> int:
        """How many episodes there are."""
        return len(self.offsets) - 1

    @property
    def num_transitions(self) -> int:
        """How many transitions there are: one fewer than states in each episode."""
        return int(self.offsets[-1]) - self.num_episodes

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return int(self.offsets[-1])

    @functools.cached_property
    def lengths(self) -> Rows:
        """Transitions of each episode, `[E]`."""
        return np.diff(self.offsets) - 1

    def episode(self, index: int) -> Episode:
        """Return one episode, as views into the arrays."""
        if not 0 <= index < self.num_episodes:
            raise GoalsetsError(
                f"episode {index} does not exist: there are {self.num_episodes}, counted from 0."
            )
        start, stop = int(self.offsets[index]), int(self.offsets[index + 1])
        return Episode(
            self.observations[start:stop],
            self.actions[start : stop - 1],
            {name: values[start:stop] for name, values in self.extras.items()},
        )

    def __iter__(self) -> Iterator[Episode]:
        """Iterate over the episodes."""
        return (self.episode(index) for index in range(self.num_episodes))

    def slice(self, first: int, last: int) -> Trajectories:
        """Return the episodes from `first` up to, not including, `last`, as views."""
        offsets = self.offsets[first : last + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        return Trajectories(
            self.observations[rows],
            self.actions[rows],
            offsets - offsets[0],
            {name: values[rows] for name, values in self.extras.items()},
        )

    # --- Drawing at random --------------------------------------------------------------------

    def draw_transitions(self, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw transitions uniformly: their rows, and the last row of each one's episode."""
        return self.locate(rng.integers(0, self.num_transitions, count))

    def draw_states(self, count: int, rng: np.random.Generator) -> Rows:
        """Draw states uniformly: their rows."""
        return rng.integers(0, self.num_states, count)

    def states(self, rows: Rows) -> NDArray[np.float32]:
        """The states `[B, D]` at rows."""
        # `take` copies whole rows, which is faster than indexing with an array.
        return self.observations.take(rows, 0)

    def taken_actions(self, rows: Rows) -> NDArray[np.float32]:
        """The actions `[B, A]` that were taken at rows."""
        return self.actions.take(rows, 0)

    def advance(self, count: int) -> None:
        """Do nothing. `Window` has the same method, and moves on."""

    def seek(self, drawn: int) -> None:
        """Do nothing. `DataSource` has the same method, and moves its window."""

    def locate(self, transitions: Rows) -> tuple[Rows, Rows]:
        """Turn transitions, counted from 0, into rows and the last rows of their episodes."""
        if self._equal_length is not None:
            episodes = transitions // self._equal_length
        else:
            episodes = np.searchsorted(self._first_transitions, transitions, side="right") - 1
        # Every earlier episode has one state more than transitions.
        return transitions + episodes, self.offsets[episodes + 1] - 1

    @functools.cached_property
    def _equal_length(self) -> int | None:
        """The common length of all episodes, or None. With it, a division replaces a search."""
        lengths = self.lengths
        same = len(lengths) > 0 and lengths[0] > 0 and bool((lengths == lengths[0]).all())
        return int(lengths[0]) if same else None

    @functools.cached_property
    def _first_transitions(self) -> Rows:
        """The number of transitions before each episode, `[E + 1]`."""
        return self.offsets - np.arange(len(self.offsets))
