"""Switches: components of actions that have two values, such as a command to open a gripper.

A policy that is trained by regression answers numbers between them. So its answer gets the nearer
one of the two values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, door

Floats = NDArray[np.float32]
Switches = Mapping[int, tuple[float, float]]
"""The two values of each component that is a switch, the smaller one first."""


@dataclass(frozen=True)
class Snapping:
    """Switches as arrays to compute with, `[A]` each."""

    is_switch: NDArray[np.bool_]
    """The other components stay as they are."""
    off: Floats
    """The smaller value."""
    middle: Floats
    """A number below it becomes the smaller value."""
    on: Floats
    """The larger value."""

    @classmethod
    def of(cls, switches: Switches, action_dim: int) -> Snapping:
        """The arrays for actions of some dimension."""
        is_switch = np.zeros(action_dim, dtype=np.bool_)
        off, middle, on = np.zeros((3, action_dim), dtype=np.float32)
        for component, (low, high) in switches.items():
            is_switch[component] = True
            off[component], middle[component], on[component] = low, (low + high) / 2, high
        return cls(is_switch, off, middle, on)

    def snap(self, actions: Floats) -> Floats:
        """Bring each switch to the nearer one of its values, in place; NaN stays NaN."""
        below = self.is_switch & (actions < self.middle)
        above = self.is_switch & (actions >= self.middle)
        np.copyto(actions, self.off, where=below)
        np.copyto(actions, self.on, where=above)
        return actions


def write_switches(switches: Switches) -> dict[str, list[float]]:
    """Plain data, for a file."""
    return {str(component): list(values) for component, values in switches.items()}


def read_switches(plain: Any, action_dim: int, place: str) -> Switches:  # noqa: ANN401 - from a file
    """Read the plain data that `write_switches` returns; `place` is for messages."""
    told = door.fit(plain, dict[str, tuple[float, float]], place, kind=GoalsetsError)
    found: dict[int, tuple[float, float]] = {}
    for name, values in told.items():
        off, on = (float(np.float32(value)) for value in values)
        component = int(name[:9]) if name.isascii() and name.isdecimal() else action_dim
        if not (component < action_dim and math.isfinite(on - off) and off < on):
            raise GoalsetsError(
                f"{place}: expected a component from 0 to {action_dim - 1} with two values, the "
                f"smaller one first, got {name[:40]!r}: {list(values)}."
            )
        found[component] = (off, on)
    return found
