"""Data from the scripted player: logs without rewards and without its subtasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from goalsets.core import Episode
from goalsets.envs.tabletop.layout import (
    ACTION_DIM,
    TabletopError,
    check_num_blocks,
    state_dim,
)
from goalsets.envs.tabletop.oracle import Oracle
from goalsets.envs.tabletop.states import Float
from goalsets.envs.tabletop.streams import Streams
from goalsets.envs.tabletop.world import TabletopWorld


@dataclass(frozen=True)
class Recording:
    """Episodes of equal length."""

    observations: Float
    """`[E, T + 1, D]`."""
    actions: Float
    """`[E, T, 5]`."""

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.actions)

    def episodes(self) -> Iterator[Episode]:
        """Yield the episodes, as views."""
        for observations, actions in zip(self.observations, self.actions, strict=True):
            yield Episode(observations, actions)


def record_play(
    num_episodes: int,
    episode_length: int = 200,
    num_blocks: int = 1,
    seed: int = 0,
    *,
    chunk: int = 2048,
) -> Recording:
    """Record episodes of the noisy oracle.

    Every episode has its own random stream, so a longer recording begins with the same episodes.

    Args:
        num_episodes: How many episodes.
        episode_length: Transitions in each.
        num_blocks: 1 or 2.
        seed: The same seed gives the same recording.
        chunk: How many worlds are stepped together. It changes the speed, not the recording.
    """
    check_num_blocks(num_blocks)
    if num_episodes < 1 or episode_length < 1 or chunk < 1:
        raise TabletopError(
            "expected at least one episode, one step and one world, got "
            f"num_episodes={num_episodes}, episode_length={episode_length}, chunk={chunk}."
        )
    dim = state_dim(num_blocks)
    observations = np.empty((num_episodes, episode_length + 1, dim), dtype=np.float32)
    actions = np.empty((num_episodes, episode_length, ACTION_DIM), dtype=np.float32)
    for start in range(0, num_episodes, chunk):
        stop = min(start + chunk, num_episodes)
        rng = Streams.from_seeds([(seed, episode) for episode in range(start, stop)])
        world = TabletopWorld(stop - start, num_blocks, rng)
        oracle = Oracle(stop - start, num_blocks, rng)
        state = world.observe()
        observations[start:stop, 0] = state
        for step in range(episode_length):
            action = oracle.act(state)
            state = world.step(action)
            actions[start:stop, step] = action
            observations[start:stop, step + 1] = state
    return Recording(observations, actions)
