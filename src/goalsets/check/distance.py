"""Compare predicted distances with the steps that held-out data took to the arrival."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.check.relabeled import Asked
from goalsets.core.acting import STEPS, Policy
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]

_WAYS = 40
"""Ways to an arrival along which the prediction should fall."""
_POINTS = 300
"""Points in the plot."""


@dataclass(frozen=True)
class Distances:
    """How well predicted distances agree with steps to the arrival."""

    unit: str
    rank_correlation: float
    """Spearman's rank correlation, over rows of all horizons; NaN if all predictions are equal."""
    error: float | None
    """Mean absolute error in steps; None if the distance is not in steps."""
    bias: float | None
    """Mean of predicted minus actual steps: above 0 if the policy overestimates distances."""
    falls: float | None
    """The share of recorded ways along which the prediction falls: its rank correlation with the
    remaining steps is above 0.5. None if no way is long enough."""
    points: tuple[tuple[int, float], ...]
    """A sample of (steps to the arrival, prediction), for the plot."""


def look_at_distances(
    policy: Policy, question: Question, data: Trajectories, asked: Asked
) -> Distances | None:
    """Compare predictions with steps; None for policies that predict no distance."""
    if policy.distance_unit is None:
        return None
    states, goals = data.states(asked.rows), data.states(asked.goals)
    predicted = np.asarray(policy.distance(states, goals, question.query), np.float64)
    counts = policy.distance_unit == STEPS
    off = predicted - asked.steps
    every = max(1, len(asked) // _POINTS)
    return Distances(
        unit=policy.distance_unit,
        rank_correlation=_rank_correlation(predicted, asked.steps),
        error=float(np.abs(off).mean()) if counts else None,
        bias=float(off.mean()) if counts else None,
        falls=_falls(policy, question, data, asked),
        points=tuple(
            (int(s), float(p))
            for s, p in zip(asked.steps[::every], predicted[::every], strict=True)
        ),
    )


def _falls(policy: Policy, question: Question, data: Trajectories, asked: Asked) -> float | None:
    far = np.flatnonzero(asked.steps >= 10)
    if not len(far):
        return None
    falling: list[bool] = []
    for place in far[:: max(1, len(far) // _WAYS)][:_WAYS]:
        row, steps = int(asked.rows[place]), int(asked.steps[place])
        states = data.observations[row : row + steps + 1]
        goal = data.observations[asked.goals[place]]
        predicted = np.asarray(policy.distance(states, goal, question.query), np.float64)
        falling.append(_rank_correlation(predicted, np.arange(steps, -1, -1)) > 0.5)
    return float(np.mean(falling))


def _rank_correlation(one: NDArray[np.floating], other: NDArray[np.integer]) -> float:
    from scipy.stats import rankdata

    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])
