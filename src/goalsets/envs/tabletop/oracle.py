"""A scripted player with subtasks, feedback from the state, and noise.

The oracle draws a subtask and acts towards it with feedback from the state. It draws another when
the subtask is done or takes too long. The noise is useful: it moves the oracle off its path, and
the recorded actions then show how to come back. A policy that imitates it needs that near a goal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalsets.envs.tabletop.layout import EFF_POS, EFF_YAW, OPENING, check_num_blocks
from goalsets.envs.tabletop.states import (
    BLOCK_OPENING,
    BLOCK_SIDE,
    REST_HEIGHT,
    WORKSPACE,
    Float,
    blocks_of,
    held_blocks,
    length,
)
from goalsets.envs.tabletop.streams import Uniforms
from goalsets.envs.tabletop.world import MAX_MOVE, MAX_OPENING, TURN

PLACE, LIFT, REACH = 0, 1, 2
"""Kinds of subtask: put a block somewhere, hold one in the air, move the gripper."""

_PLACES, _LIFTS = 0.4, 0.3
"""Probabilities of PLACE and LIFT; otherwise the subtask is REACH."""
_STACKS = 0.25
"""How often a block is placed on the other one, if there are two."""
_LIFT_HEIGHT = 0.7
"""Lowest height to which a block is lifted."""
_TIMEOUT = 60
_MAX_HOLD = 15
"""The most steps for which the gripper or a lifted block stays at its goal."""
_MAX_NOISE = 0.4
"""Highest standard deviation of the noise that an episode can have, in units of actions."""
_RANDOM_ACTIONS = 0.1
"""How often an action is replaced by a random one."""
_NEAR = 0.14
"""Within this distance the oracle closes the jaws around a block, or releases it."""
_DONE = 2 * _NEAR
"""Within this distance of its goal a subtask is done."""
_ALIGNED = 0.1
"""The same for yaw, as the tangent of half the angle."""
_TURN_SPEED = np.float32(0.5)
"""The share of the remaining turn that the oracle makes in one step: blocks turn smoothly."""


class _View(NamedTuple):
    """The oracle's view of N worlds."""

    eff_pos: Float
    eff_yaw: Float
    jaw_error: Float
    """How far the jaws must still open; around a held block they cannot close further."""
    to_block: Float
    """`[N, 3]`, from the gripper to the block of the subtask."""
    to_goal: Float
    """`[N, 3]`, from that block to its goal."""
    block_yaw: Float
    held: NDArray[np.bool_]
    """Whether that block is held."""


class Oracle:
    """Acts in N worlds, each with its own subtask and noise level.

    Args:
        num_worlds: The number of worlds.
        num_blocks: The number of blocks in each.
        rng: The source of random numbers: see `TabletopWorld`.
    """

    def __init__(self, num_worlds: int, num_blocks: int, rng: Uniforms) -> None:
        """Draw the noise levels; the first call of `act` draws the subtasks."""
        self._rng = rng
        self._num_blocks = check_num_blocks(num_blocks)
        self._rows = np.arange(num_worlds)
        self._noise = _MAX_NOISE * rng.random((num_worlds, 1)).astype(np.float32)
        self._kind = np.zeros(num_worlds, dtype=np.int64)
        self._block = np.zeros(num_worlds, dtype=np.int64)
        self._goal = np.zeros((num_worlds, 3), dtype=np.float32)
        self._yaw = np.zeros((num_worlds, 2), dtype=np.float32)
        self._opening = np.zeros(num_worlds, dtype=np.float32)
        self._hold = np.zeros(num_worlds, dtype=np.int64)
        self._age = np.full(num_worlds, _TIMEOUT)

    def act(self, states: Float) -> Float:
        """Return noisy actions `[N, 5]` in [-1, 1] for states `[N, D]`."""
        draws = self._rng.random((len(self._rows), 25))
        self._age += 1
        finished = np.flatnonzero(self._done(self._look(states)) | (self._age > _TIMEOUT))
        self._draw_subtasks(finished, states[finished], draws[finished, :9])
        view = self._look(states)
        moves_gripper = (self._kind == REACH)[:, None]
        actions = np.where(moves_gripper, self._reach(view), self._handle(view))
        return self._disturb(actions, draws[:, 9:].astype(np.float32))

    def _look(self, states: Float) -> _View:
        held = held_blocks(states)
        blocks = blocks_of(states)
        block = blocks[self._rows, self._block]
        goal = self._goal.copy()
        ground = np.full(len(goal), REST_HEIGHT, dtype=np.float32)
        if self._num_blocks > 1:
            other = blocks[self._rows, 1 - self._block]
            over = length(other[:, :2] - goal[:, :2]) < BLOCK_SIDE
            ground = np.where(over, other[:, 2] + np.float32(BLOCK_SIDE), ground)
        goal[:, 2] = np.where(self._kind == PLACE, ground, goal[:, 2])
        least = np.where(held.any(axis=1), np.float32(BLOCK_OPENING), np.float32(0))
        eff_pos = states[:, EFF_POS]
        return _View(
            eff_pos=eff_pos,
            eff_yaw=states[:, EFF_YAW],
            jaw_error=np.maximum(self._opening, least) - states[:, OPENING],
            to_block=block[:, :3] - eff_pos,
            to_goal=goal - block[:, :3],
            block_yaw=block[:, 3:],
            held=held[self._rows, self._block],
        )

    def _draw_subtasks(
        self, rows: NDArray[np.intp], states: Float, draws: NDArray[np.float64]
    ) -> None:
        """Give worlds `rows`, which are in `states`, new subtasks from draws `[n, 9]`."""
        kind = (draws[:, 0] >= _PLACES).astype(np.int64) + (draws[:, 0] >= _PLACES + _LIFTS)
        block = (draws[:, 1] * self._num_blocks).astype(np.int64)
        goal = WORKSPACE[0] + (WORKSPACE[1] - WORKSPACE[0]) * draws[:, 2:5].astype(np.float32)
        lifted = _LIFT_HEIGHT + (WORKSPACE[1, 2] - _LIFT_HEIGHT) * draws[:, 4]
        goal[:, 2] = np.where(kind == LIFT, lifted, goal[:, 2])
        if self._num_blocks > 1:
            stack = (kind == PLACE) & (draws[:, 8] < _STACKS)
            other = blocks_of(states)[np.arange(len(rows)), 1 - block]
            goal[stack, :2] = other[stack, :2]
        yaw = 2 * np.pi * draws[:, 5]
        self._kind[rows] = kind
        self._block[rows] = block
        self._goal[rows] = goal
        self._yaw[rows] = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
        self._opening[rows] = draws[:, 6]
        self._hold[rows] = (draws[:, 7] * _MAX_HOLD).astype(np.int64)
        self._age[rows] = 0

    def _done(self, view: _View) -> NDArray[np.bool_]:
        """Tell which subtasks are done; count down the steps of those that hold their goal."""
        there = length(view.to_goal) < _DONE
        reached = (
            (length(self._goal - view.eff_pos) < _DONE)
            & (np.abs(_half_turn(view.eff_yaw, self._yaw)) < _ALIGNED)
            & (np.abs(view.jaw_error) < _NEAR)
        )
        self._hold -= np.choose(self._kind, [np.False_, view.held & there, reached])
        return np.where(self._kind == PLACE, there & ~view.held, self._hold < 0)

    def _reach(self, view: _View) -> Float:
        """Actions that bring the gripper to its pose."""
        actions = np.empty((len(self._rows), 5), dtype=np.float32)
        actions[:, :3] = _straight(self._goal - view.eff_pos)
        actions[:, 3] = _half_turn(view.eff_yaw, self._yaw) * (_TURN_SPEED / TURN)
        actions[:, 4] = view.jaw_error / MAX_OPENING
        return actions

    def _handle(self, view: _View) -> Float:
        """Actions that fetch a block, carry it to its goal and, for PLACE, release it."""
        turn = _half_turn(view.block_yaw, self._yaw)
        arrived = (length(view.to_goal) < _NEAR) & (np.abs(turn) < _ALIGNED)
        opens = np.where(view.held, arrived & (self._kind == PLACE), length(view.to_block) >= _NEAR)
        path = np.where(view.held[:, None], view.to_goal, view.to_block)
        # Approach from above: the farther away, the higher, up to a height that clears blocks.
        away = np.clip(length(path[:, :2]) - np.float32(_NEAR), 0, 1)
        path[:, 2] += np.where(view.held & (self._kind == LIFT), 0, away)
        actions = np.empty((len(self._rows), 5), dtype=np.float32)
        actions[:, :3] = _straight(path)
        actions[:, 3] = np.where(view.held, turn, 0) * (_TURN_SPEED / TURN)
        actions[:, 4] = np.where(opens, 1, -1)
        return actions

    def _disturb(self, actions: Float, draws: Float) -> Float:
        """Clip actions and add noise from draws `[N, 16]`; replace some by random actions."""
        # The sum of two uniform numbers minus its mean has a variance of a sixth.
        noise = (draws[:, :5] + draws[:, 5:10] - 1) * (self._noise * np.float32(6**0.5))
        replaced = draws[:, 10:11] < _RANDOM_ACTIONS
        noisy = np.where(replaced, 2 * draws[:, 11:] - 1, np.clip(actions, -1, 1) + noise)
        return np.clip(noisy, -1, 1)


def _straight(path: Float) -> Float:
    """Actions `[N, 3]` of length one or less in the direction of paths `[N, 3]`.

    On a straight path, every step points to the goal. Limits for each axis would change the
    direction.
    """
    steps = path / MAX_MOVE
    return steps / np.maximum(length(steps), 1)[:, None]


def _half_turn(yaw: Float, wanted: Float) -> Float:
    """Tangent of half the angle from directions `[N, 2]` to the wanted ones."""
    cosine = yaw[:, 0] * wanted[:, 0] + yaw[:, 1] * wanted[:, 1]
    sine = yaw[:, 0] * wanted[:, 1] - yaw[:, 1] * wanted[:, 0]
    return sine / np.maximum(1 + cosine, np.float32(1e-6))
