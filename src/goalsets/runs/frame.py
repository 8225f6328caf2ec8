"""Frame: what a policy needs to know of its data, and nothing of the data itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser

LOW, HIGH, ORIGIN = "action_low", "action_high", "action_bounds"
"""What a run's file calls the bounds of actions, and where they come from."""


@dataclass(frozen=True)
class Frame:
    """What a policy needs to know of its data."""

    layout: StateLayout
    normaliser: Normaliser
    horizon: int
    """H_max."""
    bounds: Bounds
    """Of actions, in the data's own units."""


def read_bounds(arrays: dict[str, NDArray[np.float32]], told: Mapping[str, str]) -> Bounds:
    """Take the bounds of actions out of what a file holds; older runs have none and mean ±1."""
    if LOW not in arrays:
        return Bounds.plus_minus_one(len(arrays["action_mean"]))
    plain = {"low": arrays.pop(LOW), "high": arrays.pop(HIGH), "from": told.get(ORIGIN, "data")}
    return Bounds.from_dict(plain)
