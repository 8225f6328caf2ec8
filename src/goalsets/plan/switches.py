"""The smallest number of jumps that set switches, if each switch has two values.

A jump then flips a set of switches. The order of jumps does not matter, and a jump that is made
twice has no effect. So this is a linear system over the numbers 0 and 1.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Sequence

import numpy as np

from goalsets.plan.evidence import Jump
from goalsets.plan.parts import Part

_FREE_MOST = 10
"""With more free jumps than this, not all solutions are tried."""


class SwitchRule:
    """Estimates the remaining cost of switches.

    Args:
        parts: All parts, including the switches.
        jumps: The sets of switches that flip together.
    """

    def __init__(self, parts: Sequence[Part], jumps: Sequence[Jump]) -> None:
        """Bring the jumps into echelon form."""
        self._places = [place for place, part in enumerate(parts) if part.nature == "switch"]
        self._steps = min((jump.steps for jump in jumps), default=0.0)
        rows = {place: row for row, place in enumerate(self._places)}
        flips = np.zeros((len(self._places), len(jumps)), np.uint8)
        for column, jump in enumerate(jumps):
            flips[[rows[p] for p in jump.parts if p in rows], column] = 1
        self._rows = rows
        self._reduced, self._pivots, self._made = _echelon(flips)
        self._least = functools.lru_cache(maxsize=1 << 14)(self._count)

    def least(self, different: Collection[int]) -> float:
        """The smallest number of steps that flip exactly these switches."""
        return self._steps * self._least(frozenset(different))

    def _count(self, different: frozenset[int]) -> int:
        wanted = np.zeros(len(self._places), np.uint8)
        wanted[[self._rows[place] for place in different]] = 1
        right = self._made @ wanted % 2
        if right[len(self._pivots) :].any():
            return 1 if different else 0  # no solution: return a small estimate
        columns = self._reduced.shape[1]
        free = [column for column in range(columns) if column not in self._pivots]
        best = columns + 1
        for chosen in itertools.product((0, 1), repeat=min(len(free), _FREE_MOST)):
            solution = np.zeros(columns, np.uint8)
            solution[free[: len(chosen)]] = chosen
            solution[self._pivots] = (
                right[: len(self._pivots)] + self._reduced[: len(self._pivots)] @ solution
            ) % 2
            best = min(best, int(solution.sum()))
        return best


def _echelon(matrix: np.ndarray) -> tuple[np.ndarray, list[int], np.ndarray]:
    """The reduced echelon form over 0 and 1, its pivots, and the row operations as a matrix."""
    reduced = matrix.copy()
    made = np.eye(len(matrix), dtype=np.uint8)
    pivots: list[int] = []
    for column in range(matrix.shape[1]):
        row = len(pivots)
        below = np.flatnonzero(reduced[row:, column]) + row
        if not len(below):
            continue
        for array in (reduced, made):
            array[[row, below[0]]] = array[[below[0], row]]
        for other in np.flatnonzero(reduced[:, column]):
            if other != row:
                reduced[other] ^= reduced[row]
                made[other] ^= made[row]
        pivots.append(column)
    return reduced, pivots, made
