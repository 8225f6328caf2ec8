"""Checks the arguments of `GoalSetEnv`: tolerances and goals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, Query, StateLayout

Floats = NDArray[np.float32]


def with_tolerances(layout: StateLayout, changed: Mapping[str, float | str]) -> StateLayout:
    """The layout with other tolerances for some groups."""
    for name in changed:
        layout.group(name)  # raises an error for an unknown name
    groups = [
        group.with_tolerance(changed[group.name]) if group.name in changed else group
        for group in layout.groups
    ]
    return dataclasses.replace(layout, groups=groups) if changed else layout


def check_tolerances(layout: StateLayout) -> None:
    """Raise an error for a layout that cannot judge every coordinate."""
    unknown = [term.name for term in Query.all(layout).terms if term.tolerance is None]
    if unknown:
        raise GoalsetsError(
            f"layout {layout.name!r} has no tolerance for {', '.join(unknown)}: give GoalSetEnv "
            "these tolerances, or one epsilon for all."
        )


def checked_goals(goals: ArrayLike, layout: StateLayout) -> Floats:
    """Check goals and return them as `float32[N, D]`."""
    states = np.asarray(goals, dtype=np.float32)
    if states.ndim != 2 or len(states) == 0 or states.shape[1] != layout.dim:
        raise GoalsetsError(
            f"goals over layout {layout.name!r} must have shape [N, {layout.dim}], got "
            f"{list(states.shape)}."
        )
    if not np.isfinite(states).all():
        raise GoalsetsError("goals must be finite numbers, got NaN or infinity.")
    return states
