"""How far states are from a goal set, counted in its own tolerances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalsets.core.goalset import GoalSet


def margin(goals: GoalSet, states: NDArray[np.floating]) -> NDArray[np.float64]:
    """The largest of the terms' distances, each divided by its tolerance: `[...]`.

    It is at most 1 inside the set. The worst term decides, because all terms must hold. A term with
    a tolerance of 0 counts as 0 if it holds, and as infinite if it does not.
    """
    worst = None
    for term in goals.violations(states):
        apart = np.asarray(term.distance, dtype=np.float64)
        if term.tolerance > 0:
            ratio = apart / term.tolerance
        else:
            ratio = np.where(np.asarray(term.satisfied), 0.0, np.inf)
        worst = ratio if worst is None else np.maximum(worst, ratio)
    assert worst is not None  # a query is never empty
    return worst
