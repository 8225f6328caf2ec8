"""The tabletop world: a gripper and one or two blocks, in many copies.

The gripper follows its commands up to a maximum speed. Jaws that close around a block hold it. A
held block moves and turns with the gripper until the jaws open. A block that is not held falls onto
the table or onto the other block. There are no other collisions.

The dynamics use only sums, products, quotients and square roots. These give equal results on every
machine and for every batch size; sines do not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import StateLayout
from goalsets.envs.tabletop.layout import (
    ACTION_DIM,
    CONTACT,
    EFF_POS,
    EFF_YAW,
    JOINT_POS,
    JOINT_VEL,
    OPENING,
    TabletopError,
    check_num_blocks,
    tabletop_layout,
)
from goalsets.envs.tabletop.states import (
    BLOCK_OPENING,
    BLOCK_SIDE,
    REST_HEIGHT,
    SWIVEL_LIMIT,
    WORKSPACE,
    Float,
    arm_joints,
    blocks_of,
    build_states,
    held_blocks,
    within_reach,
)
from goalsets.envs.tabletop.streams import Uniforms

MAX_MOVE = np.float32(0.3)
"""Longest move in a step along each axis."""
MAX_TURN = 0.3
"""Largest turn in a step, in radians."""
MAX_OPENING = np.float32(0.4)
"""Largest change of the opening in a step."""
TURN = np.float32(math.tan(MAX_TURN / 2))
"""Tangent of half the largest turn: see `_rotation`."""

_RELEASE = np.float32(0.2)
"""Only a command that opens the jaws further than this releases a block, so that noise does not."""
_FALL = np.float32(0.5)
"""How far a block falls in a step."""
_STEP_SECONDS = np.float32(0.1)
_SWIVEL_STEP = np.float32(0.3)
_CONTACT_NOISE = np.float32(0.4)


class TabletopWorld:
    """Copies of the table that are stepped together.

    Args:
        num_worlds: The number of copies.
        num_blocks: 1 or 2.
        rng: The source of random numbers: a generator for all copies, or `Streams`, with one for
            each.
    """

    def __init__(self, num_worlds: int, num_blocks: int, rng: Uniforms) -> None:
        """Start from random states."""
        if num_worlds < 1:
            raise TabletopError(f"expected at least one world, got {num_worlds}.")
        self.num_worlds = num_worlds
        self.num_blocks = check_num_blocks(num_blocks)
        self._rng = rng
        self._state = np.zeros((num_worlds, self.layout.dim), dtype=np.float32)
        self._held = np.zeros((num_worlds, num_blocks), dtype=np.bool_)
        self.reset()

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        return tabletop_layout(self.num_blocks)

    def observe(self) -> Float:
        """Return the states `float32[N, D]`: a copy."""
        return self._state.copy()

    def set_state(self, observations: ArrayLike) -> None:
        """Set the worlds to full observations `[N, D]`, or all of them to one `[D]`."""
        states = np.asarray(observations, dtype=np.float32)
        if states.shape not in (self._state.shape, self._state.shape[1:]):
            raise TabletopError(
                f"expected observations of shape {self._state.shape}, got {states.shape}."
            )
        if not np.isfinite(states).all():
            raise TabletopError("expected finite observations, got NaN or infinity.")
        self._state[...] = states
        self._held = held_blocks(self._state)

    def reset(self) -> Float:
        """Put blocks and gripper at random places and return the observations `[N, D]`."""
        n, blocks = self.num_worlds, self.num_blocks
        draws = self._rng.random((n, 6 + 3 * blocks))
        low, high = WORKSPACE.astype(np.float64)
        position = np.full((n, blocks, 3), REST_HEIGHT)
        places = draws[:, 6:].reshape(n, blocks, 3)
        position[..., :2] = low[:2] + (high - low)[:2] * places[..., :2]
        self._state[...] = build_states(
            eff_pos=low + (high - low) * draws[:, :3],
            eff_yaw=2 * np.pi * draws[:, 3],
            opening=draws[:, 4],
            swivel=SWIVEL_LIMIT * (2 * draws[:, 5] - 1),
            block_pos=position,
            block_yaw=2 * np.pi * places[..., 2],
        )
        if blocks > 1:  # blocks that overlap become a stack
            below, above = blocks_of(self._state)[:, 0], blocks_of(self._state)[:, 1]
            above[:, 2] += np.where(_overlap(below, above), np.float32(BLOCK_SIDE), 0)
        self._held = held_blocks(self._state)
        return self.observe()

    def step(self, actions: ArrayLike) -> Float:
        """Apply actions `[N, 5]`, clipped to [-1, 1], and return the observations `[N, D]`."""
        moves = self._checked(actions)
        draws = self._rng.random((self.num_worlds, 2)).astype(np.float32) - np.float32(0.5)
        self._move_gripper(moves)
        self._move_jaws(moves[:, 4] * MAX_OPENING)
        self._held = held_blocks(self._state)
        self._drop_blocks()
        self._sense(draws)
        return self.observe()

    def _checked(self, actions: ArrayLike) -> Float:
        moves = np.asarray(actions, dtype=np.float32)
        if moves.shape != (self.num_worlds, ACTION_DIM):
            raise TabletopError(
                f"expected actions of shape {(self.num_worlds, ACTION_DIM)}, got {moves.shape}."
            )
        if not np.isfinite(moves).all():
            raise TabletopError("expected finite actions, got NaN or infinity.")
        return np.clip(moves, -1, 1)

    def _move_gripper(self, moves: Float) -> None:
        """Move and turn the gripper, and with it the block that it holds."""
        before = self._state[:, EFF_POS].copy()
        after = np.clip(before + moves[:, :3] * MAX_MOVE, *WORKSPACE)
        turn = _rotation(moves[:, 3])
        _turn_by(turn, self._state[:, EFF_YAW])
        _normalise(self._state[:, EFF_YAW])
        for index in range(self.num_blocks):
            rows = np.flatnonzero(self._held[:, index])
            block = blocks_of(self._state)[rows, index]
            height = block[:, 2].copy()
            offset = block[:, :3] - before[rows]
            _turn_by(turn[rows], offset[:, :2])
            _turn_by(turn[rows], block[:, 3:])
            _normalise(block[:, 3:])
            block[:, :3] = after[rows] + offset
            # If a held block would enter the table or the other block, lift it and the gripper.
            lift = np.maximum(self._floor(rows, index, block, height) - block[:, 2], 0)
            block[:, 2] += lift
            after[rows, 2] += lift
            blocks_of(self._state)[rows, index] = block
        self._state[:, EFF_POS] = after

    def _floor(self, rows: NDArray[np.intp], index: int, block: Float, height: Float) -> Float:
        """The lowest height of a held block above the table and the other block.

        Args:
            rows: The worlds in which block `index` is held.
            index: The held block.
            block: Its new state, `[n, 5]`.
            height: Its height before. A block above this height lies on it and does not block it.
        """
        floor = np.full(len(rows), REST_HEIGHT, dtype=np.float32)
        for other_index in range(self.num_blocks):
            if other_index == index:
                continue
            other = blocks_of(self._state)[rows, other_index]
            rides = other[:, 2] > height + np.float32(BLOCK_SIDE / 2)
            blocking = _overlap(block, other) & ~rides
            floor = np.where(blocking, other[:, 2] + np.float32(BLOCK_SIDE), floor)
        return floor

    def _move_jaws(self, change: Float) -> None:
        """Open or close the jaws. They stop at a block between them, which they centre."""
        opening = self._state[:, OPENING]
        wanted = np.clip(opening + change, 0, 1)
        holding = self._held.any(axis=1)
        kept = holding & (change <= _RELEASE)
        closing = (opening > BLOCK_OPENING) & (wanted < BLOCK_OPENING) & ~holding
        caught = within_reach(self._state) & closing[:, None]
        rows, blocks = np.nonzero(caught)
        blocks_of(self._state)[rows, blocks, :2] = self._state[rows, EFF_POS][:, :2]
        stopped = kept | caught.any(axis=1)
        self._state[:, OPENING] = np.where(stopped, np.float32(BLOCK_OPENING), wanted)

    def _drop_blocks(self) -> None:
        """Let every block that is not held fall onto the table or the other block."""
        blocks = blocks_of(self._state)
        for index in range(self.num_blocks):
            block = blocks[:, index]
            support = np.full(self.num_worlds, REST_HEIGHT, dtype=np.float32)
            for other_index in range(self.num_blocks):
                other = blocks[:, other_index]
                if other_index != index:
                    carries = _overlap(block, other) & (block[:, 2] > other[:, 2])
                    support = np.where(carries, other[:, 2] + np.float32(BLOCK_SIDE), support)
            fallen = np.maximum(block[:, 2] - _FALL, support)
            block[:, 2] = np.where(self._held[:, index], block[:, 2], fallen)

    def _sense(self, draws: Float) -> None:
        """Write the coordinates that are not controlled: joints, their speeds, and touch."""
        joints = self._state[:, JOINT_POS]
        before = joints.copy()
        joints[:, :2] = arm_joints(self._state[:, EFF_POS])
        swivel = joints[:, 2] + draws[:, 0] * _SWIVEL_STEP
        limit = np.float32(SWIVEL_LIMIT)
        beyond = np.clip(swivel, -limit, limit)
        joints[:, 2] = 2 * beyond - swivel  # reflected at the limit
        self._state[:, JOINT_VEL] = (joints - before) / _STEP_SECONDS
        self._state[:, CONTACT] = self._held.any(axis=1) + draws[:, 1] * _CONTACT_NOISE


def _rotation(commands: Float) -> Float:
    """Cosine and sine `[N, 2]` of the turns for commands `[N]` in [-1, 1].

    Both are computed from the tangent of half the angle, without the sine function.
    """
    t = commands * TURN
    scale = 1 + t * t
    return np.stack([(1 - t * t) / scale, 2 * t / scale], axis=1)


def _turn_by(rotation: Float, vectors: Float) -> None:
    """Turn vectors `[N, 2]` in place."""
    x = rotation[:, 0] * vectors[:, 0] - rotation[:, 1] * vectors[:, 1]
    vectors[:, 1] = rotation[:, 1] * vectors[:, 0] + rotation[:, 0] * vectors[:, 1]
    vectors[:, 0] = x


def _normalise(vectors: Float) -> None:
    """Scale vectors `[N, 2]` to length one, in place, so that rounding errors do not add up."""
    vectors /= np.sqrt(vectors[:, :1] ** 2 + vectors[:, 1:] ** 2)


def _overlap(block: Float, other: Float) -> NDArray[np.bool_]:
    """Whether two blocks `[N, 5]` overlap when seen from above."""
    apart = block[:, :2] - other[:, :2]
    return apart[:, 0] ** 2 + apart[:, 1] ** 2 < np.float32(BLOCK_SIDE) ** 2
