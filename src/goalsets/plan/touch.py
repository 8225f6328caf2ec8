"""Where the robot was when a move was made, if that tells the move from the others.

Several switches may jump in one step, such as a button of a puzzle and its neighbours. A policy
that is asked for their new values must find out which of them to touch. Many questions look alike,
so it hesitates between two buttons. But the data shows where the hand was at each such move. So the
planner asks for this place, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goalsets.core import StateLayout
from goalsets.plan.moves import Moves
from goalsets.plan.parts import Floats, Part

_FEWEST = 3
"""Recorded moves of the same parts; a single one may be an accident."""
_SAME, _OTHERS = 0.8, 0.5
"""A group tells the moves apart if it had this value in at least the first share of the same moves,
and in at most the second share of all others."""


def robot_groups(layout: StateLayout, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The groups with a tolerance that belong to none of the parts that a plan moves."""
    moved = {i for part in parts for i in part.columns.tolist()}
    return tuple(
        Part(group.name, (group,), (group.tolerance,), "roaming")
        for group in layout.groups
        if group.tolerance and not moved.intersection(group.indices)
    )


def telling_groups(
    moves: Moves, moved: Sequence[int], after: Floats, robot: Sequence[Part]
) -> tuple[str, ...]:
    """The names of groups that had their value in a state whenever these parts moved together.

    Args:
        moves: The recorded moves.
        moved: The places of the parts that move.
        after: A state `[D]` after such a move.
        robot: The groups to choose from.
    """
    same = moves.changed[:, list(moved)].all(1) & (moves.changed.sum(1) == len(moved))
    if same.sum() < _FEWEST or same.all():
        return ()
    near = [part.apart(moves.after, after) <= 1 for part in robot]
    return tuple(
        part.name
        for part, here in zip(robot, near, strict=True)
        if np.mean(here[same]) >= _SAME and np.mean(here[~same]) <= _OTHERS
    )
