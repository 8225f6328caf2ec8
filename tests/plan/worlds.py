"""Small worlds that planning is tested in: scripted data, with everything known about it."""

from __future__ import annotations

import functools

import numpy as np

from goalsets import Group, StateLayout
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.plan import Planner

TABLE = tabletop_layout(2)


@functools.cache
def table_planner() -> Planner:
    """Learned from the tabletop with two blocks."""
    states = record_play(500, 200, num_blocks=2, seed=0).observations
    return Planner.learn(TABLE, states.reshape(-1, TABLE.dim), offsets(states))


def offsets(states: np.ndarray) -> np.ndarray:
    """Where the episodes of states `[E, T, D]` begin."""
    return np.arange(len(states) + 1) * states.shape[1]


CHEST = StateLayout(
    dim=6,
    groups=[
        Group("hand", (0,), "absolute", tolerance=0.1),
        Group("lock_state", (1, 2), "exact", kind="lo*_state"),
        Group("chest", (3,), "absolute", tolerance=0.1),
        Group("ball", (4, 5), "euclidean", tolerance=0.1),
    ],
    task="lock_state & chest & ball",
    name="chest",
)
"""A chest slides between 0 (shut) and 1 (open), but only while its lock is open. A ball lies on the
floor, at x >= 2, or in the chest; in the chest it moves with it, and it gets there only while the
chest is open."""

INSIDE = np.array([0.0, 5.0], np.float32)
"""Where a ball in the chest is, less how far the chest is open."""


def chest_state(open_lock: bool, chest: float, ball: tuple[float, float]) -> np.ndarray:
    return np.array([0.0, not open_lock, open_lock, chest, *ball], np.float32)


@functools.cache
def chest_data() -> tuple[np.ndarray, np.ndarray]:
    """Reward-free play in the world of the chest: states `[R, 6]` and offsets."""
    rng = np.random.default_rng(0)
    episodes = []
    for _ in range(120):
        state = chest_state(
            bool(rng.integers(2)), float(rng.integers(2)), tuple(rng.uniform((2, 0), (4, 5)))
        )
        rows = [state]
        inside = False
        for _ in range(8):
            sort = rng.integers(3)
            for _ in range(int(rng.integers(12, 18))):  # the hand goes there
                state = state.copy()
                state[0] += rng.normal(0, 1)
                rows.append(state)
            if sort == 0:
                state = state.copy()
                state[1:3] = state[2:0:-1]
                rows.append(state)
            elif sort == 1 and state[2] == 1:
                for step in np.linspace(state[3], 1 - state[3], 11)[1:]:
                    state = state.copy()
                    if inside:
                        state[4] += step - state[3]
                    state[3] = step
                    rows.append(state)
            elif sort == 2 and not inside:
                inside = state[3] == 1 and rng.random() < 0.5
                target = INSIDE + np.array([1, 0]) if inside else rng.uniform((2, 0), (4, 5))
                for share in np.linspace(0, 1, 11)[1:]:
                    moved = state.copy()
                    moved[4:] = (1 - share) * state[4:] + share * target
                    rows.append(moved)
                state = rows[-1]
        rows += [state.copy() for _ in range(12)]
        episodes.append(np.stack(rows))
    lengths = [len(rows) for rows in episodes]
    return np.concatenate(episodes), np.concatenate([[0], np.cumsum(lengths)])


@functools.cache
def chest_planner() -> Planner:
    return Planner.learn(CHEST, *chest_data())
