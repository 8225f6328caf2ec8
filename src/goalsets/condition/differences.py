"""Differences in each group's own metric, for arrays and tensors.

    line        (g − s) / σ, and tanh((g − s) / tolerance)
    angle       (cos, sin) of the angle from s to g, minus (1, 0)
    quaternion  g ⊗ s*, scalar first, with the sign of the shorter turn, minus 1

All are zero if goal and state are equal. A difference along a line is given twice: divided by the
deviation of the data, for the long way, and by the tolerance, for the last centimetre. Angles can
also be given with their multiples 2 and 4, because a gripper looks the same after half a turn, and
a box after a quarter. A product of rotations is bilinear: an outer product, then one matrix. So one
state needs only a few calls of NumPy for any number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from goalsets.condition.base import join
from goalsets.core import Group, StateLayout
from goalsets.core.metrics import Array, namespace
from goalsets.data.normaliser import Normaliser
from goalsets.relabel.units import EPSILON

Floats = NDArray[np.float32]
_ROTATIONS = {"angle": 2, "quaternion": 4}


class Units:
    """The units of a layout's coordinates."""

    def __init__(self, layout: StateLayout, normaliser: Normaliser) -> None:
        """Take the means and deviations of a normaliser."""
        self.layout = layout
        self.mean, self.std = np.array(normaliser.state_mean), np.array(normaliser.state_std)

    def raw(self, standardised: Array) -> Array:
        """Undo the standardisation."""
        return standardised * constant(self.std, standardised) + constant(self.mean, standardised)

    def scales(self, groups: Sequence[Group]) -> Floats:
        """The deviations of the groups' coordinates, one after another."""
        return self.std[[index for group in groups for index in group.indices]]

    def even_scales(self, groups: Sequence[Group]) -> Floats:
        """One scale for all coordinates of a group, so that directions are kept."""
        found = [
            np.full(len(g.indices), np.sqrt((self.std[list(g.indices)] ** 2).mean()))
            for g in groups
        ]
        return np.concatenate(found or [np.empty(0)]).astype(np.float32)


class Differences:
    """G ⊖ s of several groups whose coordinates follow one another.

    Args:
        groups: The groups.
        scales: `[n]`: differences along lines are divided by them.
        near: Whether differences along lines are also given in tolerances.
        multiples: Whether angles are also given with their multiples.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        scales: Floats,
        *,
        near: bool = True,
        multiples: bool = False,
    ) -> None:
        """Sort the coordinates by their metrics."""
        ends = np.cumsum([len(group.indices) for group in groups])
        spans = [np.arange(end - len(g.indices), end) for g, end in zip(groups, ends, strict=True)]
        pairs = list(zip(groups, spans, strict=True))
        lines = [span for group, span in pairs if group.metric not in _ROTATIONS]
        self._lines = np.concatenate(lines or [np.empty(0, np.intp)])
        self._scales = scales[self._lines]
        found = [_nearness(g, scales[span]) for g, span in pairs if g.metric not in _ROTATIONS]
        self._near = np.concatenate(found) if found and near else None
        turns = {m: [s for group, s in pairs if group.metric == m] for m in _ROTATIONS}
        self._turns = [(np.stack(found), _TABLES[m]) for m, found in turns.items() if found]
        self._multiples = multiples
        angles = sum(len(columns) for columns, _ in self._turns if columns.shape[1] == 2)
        self.dim = len(scales) + (0 if self._near is None else len(self._near))
        self.dim += 4 * angles if multiples else 0

    def shown(self, states: Array, goals: Array, active: Array) -> list[Array]:
        """Raw states, goals and flags `[..., n]` give parts with `dim` coordinates together.

        Inactive coordinates are zero. A rotation is active only if all its coordinates are.
        """
        parts: list[Array] = []
        if len(self._lines):
            apart = take(goals, self._lines) - take(states, self._lines)
            apart = where(take(active, self._lines), apart)
            parts.append(apart / constant(self._scales, states))
            if self._near is not None:
                parts.append(namespace(apart).tanh(apart / constant(self._near, states)))
        for columns, table in self._turns:
            outer = take(goals, columns)[..., :, None] * take(states, columns)[..., None, :]
            size = columns.shape[1]
            flat = outer.reshape(*outer.shape[:-2], size * size)
            turned = flat @ constant(table, states)
            if size == 4:
                turned = turned * (1.0 - 2.0 * numbers(turned[..., :1] < 0, states))
            shown = turned - constant(_IDENTITY[:size], states)
            if size == 2 and self._multiples:
                twice = _doubled(turned)
                shown = join(shown, twice, _doubled(twice))
            shown = shown * numbers(take(active, columns).all(-1)[..., None], states)
            parts.append(shown.reshape(*shown.shape[:-2], shown.shape[-2] * shown.shape[-1]))
        return parts


def _nearness(group: Group, scales: Floats) -> Floats:
    """The distance that counts as near: the group's tolerance, or √ε of the deviation."""
    tolerance = group.tolerance or 0.0
    return np.where(tolerance > 0, tolerance, math.sqrt(EPSILON) * scales).astype(np.float32)


def _doubled(turns: Array) -> Array:
    """(cos 2θ, sin 2θ) of (cos θ, sin θ)."""
    cos, sin = turns[..., :1], turns[..., 1:]
    return join(cos * cos - sin * sin, 2.0 * cos * sin)


def _table(products: Sequence[Sequence[tuple[int, int, int]]]) -> Floats:
    """A matrix `[n², n]` that sums signed products of a goal's and a state's coordinates."""
    size = len(products)
    table = np.zeros((size, size, size), np.float32)
    for out, terms in enumerate(products):
        for sign, goal, state in terms:
            table[goal, state, out] = sign
    return table.reshape(size * size, size)


_TABLES = {
    "angle": _table([[(1, 0, 0), (1, 1, 1)], [(1, 1, 0), (-1, 0, 1)]]),
    "quaternion": _table(
        [
            [(1, 0, 0), (1, 1, 1), (1, 2, 2), (1, 3, 3)],
            [(1, 1, 0), (-1, 0, 1), (-1, 2, 3), (1, 3, 2)],
            [(1, 2, 0), (-1, 0, 2), (-1, 3, 1), (1, 1, 3)],
            [(1, 3, 0), (-1, 0, 3), (-1, 1, 2), (1, 2, 1)],
        ]
    ),
}
_IDENTITY = np.array([1, 0, 0, 0], np.float32)


def columns_of(groups: Sequence[Group]) -> NDArray[np.intp]:
    """The coordinates of groups, one group after another."""
    return np.array([index for group in groups for index in group.indices], np.intp)


def take(values: Array, columns: NDArray[np.intp]) -> Array:
    """Coordinates of the last axis by index: `[n]`, or `[n, k]` for several objects."""
    if namespace(values) is not torch:
        return values.take(columns, -1)
    found = values.index_select(-1, torch.from_numpy(columns.ravel()).to(values.device))
    return found if columns.ndim == 1 else found.unflatten(-1, columns.shape)


def where(condition: Array, values: Array) -> Array:
    """Values where a condition holds, zeros elsewhere."""
    return namespace(values).where(condition, values, 0.0)


def numbers(flags: Array, values: Array) -> Array:
    """Flags as numbers of the type of `values`."""
    return flags.to(values.dtype) if namespace(flags) is torch else flags.astype(values.dtype)


def constant(constants: Floats, values: Array) -> Array:
    """Constants as an array of the same library and device as `values`."""
    if namespace(values) is not torch:
        return constants
    return torch.from_numpy(constants).to(values.device)
