"""What would it do? Noise on what it sees, actions at their bounds, and the time that it takes."""

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
"""Deviation of the noise on an observation, in deviations of each coordinate."""
_NEAR_BOUND = 1e-3
"""An action is at its bound if it is within so much of the range of it."""
_CALLS = 60
"""Calls that are timed."""


@dataclass(frozen=True)
class Behaviour:
    """What a policy would do."""

    noise: float
    """How large the noise was, in deviations."""
    unsteadiness: float
    """How much noise changes actions: mean absolute change over components, in deviations of the
    data's actions."""
    direction_under_noise: float
    """Mean cosine between the actions with and without noise, as standardised."""
    saturation: tuple[float, ...]
    """The share of actions at a bound, by component."""
    data_saturation: tuple[float, ...]
    """The same of the data's own actions at these rows."""
    milliseconds: float
    """For one action, the median."""
    slowest: float
    """The same, at the 95th of 100."""
    period: float | None
    """Milliseconds from one control step to the next; None where the rate is not known."""


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
    """Look at what a policy does at rows of held-out data.

    Args:
        policy: The policy.
        question: What it is asked.
        data: Held-out episodes.
        asked: Rows of them; at least one.
        normaliser: Of the training data.
        bounds: Of actions.
        rng: Makes noise.
        rate: Control steps a second, where it is known.
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
    """Milliseconds of single calls, as a robot makes them; the first ones warm up."""
    times: list[float] = []
    for call in range(_CALLS):
        row = call % len(states)
        begin = time.perf_counter()
        policy.act(states[row], goals[row], question.query)
        times.append(1000.0 * (time.perf_counter() - begin))
    return times[_CALLS // 6 :]
