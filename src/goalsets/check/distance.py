"""Does it know how far it is? Predicted distances beside steps to the arrival, held-out."""

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
"""Points that a picture shows."""


@dataclass(frozen=True)
class Distances:
    """How well predicted distances agree with steps to the arrival."""

    unit: str
    rank_correlation: float
    """Spearman's, over rows of all horizons; not a number where all predictions are equal."""
    error: float | None
    """Mean absolute error in steps; None where the distance does not count steps."""
    bias: float | None
    """Mean of predicted less actual steps: above 0 where goals look further than they are."""
    falls: float | None
    """The share of ways on which the prediction falls: its rank correlation with the steps that are
    left, along the way, is above 0.5. None where no way is long enough."""
    points: tuple[tuple[int, float], ...]
    """Steps to the arrival and predictions, some of them, for a picture."""


def look_at_distances(
    policy: Policy, question: Question, data: Trajectories, asked: Asked
) -> Distances | None:
    """Compare; None for policies that predict no distance."""
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
