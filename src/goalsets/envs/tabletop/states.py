"""States of the table: functions that build and read them.

A state determines the world completely; even which block is held follows from it. So a world can be
set to any recorded observation.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.envs.tabletop.layout import (
    BLOCK_DIM,
    BLOCKS,
    CONTACT,
    EFF_POS,
    EFF_YAW,
    JOINT_POS,
    OPENING,
    state_dim,
)

Float = NDArray[np.floating]
"""Numbers of a world. They are float32, but the types of numpy's operators cannot express that."""
_Scalar = TypeVar("_Scalar", bound=np.generic)

BLOCK_SIDE = 0.4
"""Length of a block's edge."""
REST_HEIGHT = BLOCK_SIDE / 2
"""Height of a block's centre when it lies on the table."""
WORKSPACE = np.array([[-2.0, -2.0, REST_HEIGHT], [2.0, 2.0, 2.0]], dtype=np.float32)
"""Lowest and highest position of the gripper."""
JAW_SPAN = 1.0
"""Distance between the jaws when they are wide open."""
BLOCK_OPENING = BLOCK_SIDE / JAW_SPAN
"""Opening at which the jaws touch a block on both sides."""
REACH = (JAW_SPAN - BLOCK_SIDE) / 2
"""The largest horizontal distance from the gripper at which a block is between the open jaws."""
REACH_HEIGHT = 0.15
"""The largest vertical distance: less than half a block, so only one of two stacked blocks fits."""
SWIVEL_LIMIT = 1.5
"""Limit of the joint that drifts at random, in radians."""

_BASE_X = -3.5
_LINK = 3.4


def blocks_of(states: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """View the blocks in states `[..., D]` as `[..., blocks, 5]`."""
    blocks = states[..., BLOCKS]
    return blocks.reshape(*blocks.shape[:-1], blocks.shape[-1] // BLOCK_DIM, BLOCK_DIM)


def length(vectors: Float) -> Float:
    """Euclidean length of vectors `[N, n]`: `[N]`.

    The sum is written out because the order of additions in `numpy.sum` depends on the batch.
    """
    total = vectors[:, 0] * vectors[:, 0]
    for axis in range(1, vectors.shape[1]):
        total = total + vectors[:, axis] * vectors[:, axis]
    return np.sqrt(total)


def within_reach(states: Float, slack: float = 0.0) -> NDArray[np.bool_]:
    """For states `[N, D]`, whether each block lies between the jaws: `bool[N, blocks]`.

    At most one block does: the nearest.
    """
    offset = blocks_of(states)[..., :3] - states[:, None, EFF_POS]
    level = offset[..., 0] ** 2 + offset[..., 1] ** 2
    near = (level <= (REACH + slack) ** 2) & (np.abs(offset[..., 2]) <= REACH_HEIGHT + slack)
    if near.shape[1] > 1:
        apart = level + offset[..., 2] ** 2
        near &= apart == apart.min(axis=1, keepdims=True)
    return near


def held_blocks(states: Float) -> NDArray[np.bool_]:
    """For states `[N, D]`, which block the gripper holds: `bool[N, blocks]`, at most one a row.

    A block is held when it is between jaws whose distance equals its width. The slack allows for
    rounding when a block was grasped at the edge of the reach.
    """
    closed = np.abs(states[:, OPENING] - BLOCK_OPENING) < 1e-3
    return within_reach(states, slack=0.01) & closed[:, None]


def arm_joints(eff_pos: Float) -> Float:
    """Shoulder and elbow angles `[N, 2]` of a two-link arm whose end is above `[N, 3]`."""
    x = eff_pos[:, 0] - np.float32(_BASE_X)
    y = eff_pos[:, 1] + np.float32(0.0)
    half_elbow = np.arccos(np.sqrt(x * x + y * y) / np.float32(2 * _LINK))
    return np.stack([np.arctan2(y, x) - half_elbow, 2 * half_elbow], axis=1)


def build_states(
    *,
    eff_pos: ArrayLike,
    eff_yaw: ArrayLike,
    opening: ArrayLike,
    block_pos: ArrayLike,
    block_yaw: ArrayLike,
    swivel: ArrayLike = 0.0,
) -> Float:
    """Build states `[N, D]` at rest; the arguments broadcast over N.

    Args:
        eff_pos: Position of the gripper, `[N, 3]`.
        eff_yaw: Its yaw in radians, `[N]`.
        opening: Its opening from 0 to 1, `[N]`.
        block_pos: Centres of the blocks, `[N, blocks, 3]`.
        block_yaw: Their yaws in radians, `[N, blocks]`.
        swivel: The drifting joint in radians, `[N]`.
    """
    position = np.asarray(block_pos, dtype=np.float32)
    count, num_blocks, _ = position.shape
    states = np.zeros((count, state_dim(num_blocks)), dtype=np.float32)
    states[:, EFF_POS] = eff_pos
    states[:, EFF_YAW] = _direction(eff_yaw)
    states[:, OPENING] = opening
    states[:, JOINT_POS][:, :2] = arm_joints(states[:, EFF_POS])
    states[:, JOINT_POS][:, 2] = swivel
    blocks = blocks_of(states)
    blocks[..., :3] = position
    blocks[..., 3:] = _direction(block_yaw)
    states[:, CONTACT] = held_blocks(states).any(axis=1)
    return states


def _direction(yaw: ArrayLike) -> NDArray[np.float64]:
    """Cosine and sine of angles `[...]`: `[..., 2]`."""
    yaw = np.ascontiguousarray(yaw, dtype=np.float64)
    return np.stack([np.cos(yaw), np.sin(yaw)], axis=-1)
