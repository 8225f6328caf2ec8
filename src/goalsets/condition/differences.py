"""Differences in each group's own metric, for arrays and tensors alike.

    line        (g − s) / σ, and tanh((g − s) / tolerance)
    angle       (cos, sin) of the angle from s to g, less (1, 0)
    quaternion  g ⊗ s*, scalar first, of the sign that turns by less than half a turn, less 1

All are zero where goal and state agree. A difference along a line is shown twice: in deviations of
the data, for the way there, and in tolerances, for the last centimetre. Angles can be shown with
their multiples 2 and 4 as well: to a gripper half a turn makes no difference, and to a box a
quarter. Products of rotations are bilinear: an outer product, then one matrix, so that one state
costs a few calls of NumPy however many groups there are.
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
        """Take the deviations of a normaliser."""
        self.layout = layout
        self.mean, self.std = np.array(normaliser.state_mean), np.array(normaliser.state_std)

    def raw(self, standardised: Array) -> Array:
        """Undo the standardisation."""
        return standardised * constant(self.std, standardised) + constant(self.mean, standardised)

    def scales(self, groups: Sequence[Group]) -> Floats:
        """The deviations of groups' coordinates, one after the other."""
        return self.std[[index for group in groups for index in group.indices]]

    def even_scales(self, groups: Sequence[Group]) -> Floats:
        """The same for all coordinates of a group: a place keeps its directions."""
        found = [
            np.full(len(g.indices), np.sqrt((self.std[list(g.indices)] ** 2).mean()))
            for g in groups
        ]
        return np.concatenate(found or [np.empty(0)]).astype(np.float32)


class Differences:
    """G ⊖ s of several groups whose coordinates lie one after the other.

    Args:
        groups: The groups.
        scales: `[n]`, by which differences along lines are divided.
        near: Whether differences along lines are shown in tolerances, too.
        multiples: Whether angles are shown with their multiples.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        scales: Floats,
        *,
        near: bool = True,
        multiples: bool = False,
    ) -> None:
        """Sort the coordinates by how they are compared."""
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
        """Raw states and goals and flags `[..., n]` give parts of `dim` coordinates together.

        What is not active is zero. A rotation is known by all of its coordinates or not at all.
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
    """What counts as near in each coordinate of a group: its tolerance, or √ε of its deviation."""
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


def take(values: Array, columns: NDArray[np.intp]) -> Array:
    """Coordinates of the last axis, by number: `[n]` or, of several objects, `[n, k]`."""
    if namespace(values) is not torch:
        return values.take(columns, -1)
    found = values.index_select(-1, torch.from_numpy(columns.ravel()).to(values.device))
    return found if columns.ndim == 1 else found.unflatten(-1, columns.shape)


def where(condition: Array, values: Array) -> Array:
    """Values where a condition holds, zeros elsewhere."""
    return namespace(values).where(condition, values, 0.0)


def numbers(flags: Array, values: Array) -> Array:
    """Truth as numbers of the type of values."""
    return flags.to(values.dtype) if namespace(flags) is torch else flags.astype(values.dtype)


def constant(constants: Floats, values: Array) -> Array:
    """Constants as an array of the library and on the device of values."""
    if namespace(values) is not torch:
        return constants
    return torch.from_numpy(constants).to(values.device)
