"""Spaces of Gymnasium: the shape of each entry, and its smallest and largest values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.data.flatten import FieldSpec, Shape

# A gymnasium.Space: Gymnasium is an extra, so its types cannot be named here.
Space = Any
Floats = NDArray[np.float32]


def space_shapes(space: Space) -> dict[str, Shape | None]:
    """The shape of each entry of a space by its dotted key; None if it does not hold numbers."""
    from goalsets.envs.observed import space_shapes as shapes  # imports Gymnasium

    return shapes(space)


def space_ends(space: Space, fields: Sequence[FieldSpec]) -> tuple[Floats, Floats]:
    """The smallest and largest value of each coordinate of a flat vector; may be infinite."""
    from goalsets.envs.observed import space_leaves  # imports Gymnasium

    entries = space_leaves(space)
    ends = [_ends(entries[field.name], field.size) for field in fields]
    low, high = (np.concatenate(side).astype(np.float32) for side in zip(*ends, strict=True))
    return low, high


def _ends(space: Space, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from gymnasium import spaces

    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    if isinstance(space, spaces.Box):
        # The largest number of a type means that there is no limit.
        top = np.finfo(space.dtype).max if space.dtype.kind == "f" else np.inf
        low, high = (np.asarray(e, np.float64).reshape(-1) for e in (space.low, space.high))
        low, high = np.where(low <= -top, -np.inf, low), np.where(high >= top, np.inf, high)
    elif isinstance(space, spaces.Discrete):
        low, high = np.full(size, space.start), np.full(size, space.start + space.n - 1)
    elif isinstance(space, spaces.MultiDiscrete):
        low = np.asarray(space.start).reshape(-1)
        high = low + np.asarray(space.nvec).reshape(-1) - 1
    elif isinstance(space, spaces.MultiBinary):
        low, high = np.zeros(size), np.ones(size)
    return low.astype(np.float64), high.astype(np.float64)
