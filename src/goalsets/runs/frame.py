"""Frame: what a policy needs to know of its data, and nothing of the data itself."""

from __future__ import annotations

from dataclasses import dataclass

from goalsets.core import StateLayout
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser


@dataclass(frozen=True)
class Frame:
    """What a policy needs to know of its data."""

    layout: StateLayout
    normaliser: Normaliser
    horizon: int
    """H_max."""
    bounds: Bounds
    """Of actions, in the data's own units."""
