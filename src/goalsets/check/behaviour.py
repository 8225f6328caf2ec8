"""How does a policy behave: under noise, at the bounds of actions, and how fast is it?"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.check.relabeled import Asked
from goalsets.core.acting import Policy
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]

NOISE = 0.01
"""Standard deviation of the noise on a coordinate, in units of that coordinate's own."""
_NEAR_BOUND = 1e-3
"""An action is at its bound if it is closer to it than this share of the range."""
_CALLS = 60
"""Calls that are timed."""


@dataclass(frozen=True)
class Behaviour:
    """How a policy behaves at held-out states."""

    noise: float
    """The standard deviation of the noise, in units of each coordinate's own."""
    unsteadiness: float
    """How much noise changes actions: mean absolute change over components, in standard deviations
    of the data's actions."""
    direction_under_noise: float
    """Mean cosine between the standardised actions with and without noise."""
    saturation: tuple[float, ...]
    """The share of actions at a bound, by component."""
    data_saturation: tuple[float, ...]
    """The same for the data's actions at these rows."""
    milliseconds: float
    """Median time of one action."""
    slowest: float
    """95th percentile of the time of one action."""
    period: float | None
    """Milliseconds between control steps; None if the rate is not known."""


def look_at_behaviour(
    policy: Policy,
    question: Question,
    data: Trajectories,
    asked: Asked,
    normaliser: Normaliser,
    bounds: Bounds,
    rng: np.random.Generator,
    *,
    rate: float | None = None,
) -> Behaviour:
    """Measure how a policy behaves at rows of held-out data.

    Args:
        policy: The policy.
        question: The question that it is asked.
        data: Held-out episodes.
        asked: Rows of the data; at least one.
        normaliser: The normaliser of the training data.
        bounds: The bounds of actions.
        rng: Draws the noise.
        rate: Control steps a second, if known.
    """
    states, goals = data.states(asked.rows), data.states(asked.goals)
    scale = normaliser.action_std
    quiet = policy.act(states, goals, question.query)
    noise = rng.normal(scale=NOISE, size=states.shape) * normaliser.state_std
    noisy = policy.act((states + noise).astype(np.float32), goals, question.query)
    times = _times(policy, states, goals, question)
    return Behaviour(
        noise=NOISE,
        unsteadiness=float((np.abs(noisy - quiet) / scale).mean()),
        direction_under_noise=_agreement(normaliser.actions(quiet), normaliser.actions(noisy)),
        saturation=_at_bounds(quiet, bounds),
        data_saturation=_at_bounds(data.taken_actions(asked.rows), bounds),
        milliseconds=float(np.median(times)),
        slowest=float(np.quantile(times, 0.95)),
        period=None if rate is None else 1000.0 / rate,
    )


def _at_bounds(actions: Floats, bounds: Bounds) -> tuple[float, ...]:
    room = _NEAR_BOUND * (bounds.high - bounds.low)
    at = (actions >= bounds.high - room) | (actions <= bounds.low + room)
    return tuple(float(share) for share in at.mean(0))


def _agreement(one: Floats, other: Floats) -> float:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    known = lengths > 1e-9
    if not known.any():
        return 1.0
    return float(((one * other).sum(1)[known] / lengths[known]).mean())


def _times(policy: Policy, states: Floats, goals: Floats, question: Question) -> list[float]:
    """Milliseconds of single calls, as on a robot; the first calls are not counted."""
    times: list[float] = []
    for call in range(_CALLS):
        row = call % len(states)
        begin = time.perf_counter()
        policy.act(states[row], goals[row], question.query)
        times.append(1000.0 * (time.perf_counter() - begin))
    return times[_CALLS // 6 :]
