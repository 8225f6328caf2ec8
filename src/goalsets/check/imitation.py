"""Does the policy act like the data? Compare its actions on held-out episodes with baselines.

Actions are compared as a robot would get them: within their bounds, and with switches at one of
their two values. Errors of single components are given in the action's own units. For the mean over
components, each error is divided by the component's standard deviation σ in the training data:

    e = mean over rows and components of |â − a| / σ
    skill over a baseline = 1 − e / e(baseline)

The noise in the data limits how small e can get. So a policy is compared with *look-up*: the mean
action of the 20 most similar situations in the training data, which averages their noise. The
measure is

    learned = (e(mean) − e) / (e(mean) − e(look-up))

0 is as good as the mean action, 1 as good as look-up. A trained network should be above 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.check.relabeled import Asked, Relabeler
from goalsets.core.acting import Policy
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]
Still = Literal["zero", "repeat"]
"""The action that holds a robot still: zero, or the last action repeated."""
STILLS: tuple[Still, ...] = ("zero", "repeat")

_LITTLE = 0.05
"""The gain of look-up counts as at least this share of the mean action's error."""
_SAMPLE = 20_000
"""Transitions from which `what_still_is` decides, …"""
_STILLEST = 0.1
"""… and the share of them, with the smallest change of state, that it uses."""


@dataclass(frozen=True)
class Errors:
    """Errors of one kind of action, over some rows."""

    scaled: float
    """e, in standard deviations of the data's actions."""
    components: tuple[float, ...]
    """Mean absolute errors of the components, in their own units."""


@dataclass(frozen=True)
class AtHorizon:
    """The comparison for arrivals within one horizon, or within all."""

    low: int
    high: int
    """Steps to the arrival, from and to."""
    rows: int
    policy: Errors
    still: Errors
    mean: Errors
    neighbour: Errors
    look_up: Errors
    """Errors of the mean action of several neighbours."""
    other_goal: Errors
    """Errors of the policy itself when it gets the goals of other rows."""
    direction: float
    """Mean cosine between the policy's action and the data's, both relative to holding still."""
    same_way: float
    """The share of rows in which that cosine is above 0."""

    @property
    def skill(self) -> Mapping[str, float]:
        """1 − e / e(baseline), by baseline."""
        baselines = {
            "still": self.still,
            "mean": self.mean,
            "neighbour": self.neighbour,
            "look_up": self.look_up,
            "other_goal": self.other_goal,
        }
        return {n: 1.0 - self.policy.scaled / max(b.scaled, 1e-9) for n, b in baselines.items()}

    @property
    def learned(self) -> float:
        """How much closer to the data the policy is than the mean action; look-up is 1."""
        looking_up = self.mean.scaled - self.look_up.scaled
        # If look-up gains almost nothing, the quotient would explode.
        least = max(looking_up, _LITTLE * self.mean.scaled, 1e-9)
        return (self.mean.scaled - self.policy.scaled) / least


@dataclass(frozen=True)
class Imitation:
    """How closely a policy's actions follow held-out data, for one question."""

    overall: AtHorizon
    """All horizons together, each with equal weight in rows."""
    by_horizon: tuple[AtHorizon, ...]
    """The horizons that have rows."""


class Imitator:
    """Compares a policy's actions with those of held-out data.

    Args:
        policy: The policy.
        held_out: Held-out episodes, ready to be relabeled.
        normaliser: The normaliser of the training data.
        bounds: The bounds of actions.
        still: Which action holds the robot still; see `what_still_is`.
    """

    def __init__(
        self,
        policy: Policy,
        held_out: Relabeler,
        normaliser: Normaliser,
        bounds: Bounds,
        still: Still,
    ) -> None:
        """Compare nothing yet."""
        self._policy = policy
        self._held_out = held_out
        self._normaliser = normaliser
        self._bounds = bounds
        self._still: Still = still

    def compare(
        self, question: Question, asked: Asked, neighbours: Floats, rng: np.random.Generator
    ) -> Imitation:
        """Compare at rows of the held-out data that were relabeled with a question.

        Args:
            question: The question.
            asked: Rows of the held-out data; at least one.
            neighbours: The actions `[N, K, A]` of their nearest neighbours in the training data,
                the nearest first.
            rng: Exchanges goals between rows.
        """
        data, scale = self._held_out.data, self._normaliser.action_std
        states, goals = data.states(asked.rows), data.states(asked.goals)
        taken = data.taken_actions(asked.rows)
        still = still_actions(data, asked.rows, self._still)
        chosen = self._policy.act(states, goals, question.query)
        snap = self._bounds.snap  # averages lie between the values of a switch
        others = goals[_shuffled(asked, self._held_out.horizons, rng)]
        actions = {
            "policy": chosen,
            "still": still,
            "mean": snap(np.tile(self._normaliser.action_mean, (len(taken), 1))),
            "neighbour": neighbours[:, 0],
            "look_up": snap(neighbours.mean(1)),
            "other_goal": self._policy.act(states, others, question.query),
        }
        agree = _cosines((chosen - still) / scale, (taken - still) / scale)
        apart = {name: np.abs(each - taken) for name, each in actions.items()}

        def summed(low: int, high: int) -> AtHorizon | None:
            here = (asked.steps >= low) & (asked.steps <= high)
            if not here.any():
                return None
            errors = {
                name: Errors(
                    float((each[here] / scale).mean()), tuple(map(float, each[here].mean(0)))
                )
                for name, each in apart.items()
            }
            along = agree[here]
            along = along[np.isfinite(along)]
            return AtHorizon(
                low,
                high,
                int(here.sum()),
                **errors,
                direction=float(along.mean()) if len(along) else float("nan"),
                same_way=float((along > 0).mean()) if len(along) else float("nan"),
            )

        horizons = self._held_out.horizons
        overall = summed(horizons[0][0], horizons[-1][1])
        assert overall is not None  # the caller has rows
        return Imitation(overall, tuple(h for h in (summed(*each) for each in horizons) if h))


def what_still_is(data: Trajectories, normaliser: Normaliser, rng: np.random.Generator) -> Still:
    """Decide from the data which action holds the robot still.

    If actions are velocities or differences, it is zero. If actions are target positions, it is the
    last action repeated. A log does not say which it is. But where the state hardly changed, the
    action was close to one of the two.
    """
    rows, _ = data.draw_transitions(_SAMPLE, rng)
    steps = (data.observations[rows + 1] - data.observations[rows]) / normaliser.state_std
    moved = np.linalg.norm(steps, axis=1)
    rows = rows[moved <= np.quantile(moved, _STILLEST)]
    taken, scale = data.taken_actions(rows), normaliser.action_std
    apart = {
        still: float((np.abs(still_actions(data, rows, still) - taken) / scale).mean())
        for still in STILLS
    }
    return min(STILLS, key=lambda still: apart[still])


def still_actions(data: Trajectories, rows: NDArray[np.int64], still: Still) -> Floats:
    """The actions `[N, A]` that hold the robot still at rows."""
    if still == "zero":
        return np.zeros((len(rows), data.actions.shape[1]), np.float32)
    first = np.isin(rows, data.offsets[:-1])
    before = data.taken_actions(np.where(first, rows, rows - 1))
    # At the first row of an episode nothing was commanded before.
    return np.where(first[:, None], np.float32(0), before)


def _cosines(one: Floats, other: Floats) -> Floats:
    """Cosines `[N]` between rows; NaN if one of the two is zero."""
    length = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(length > 1e-9, (one * other).sum(1) / length, np.nan)


def _shuffled(
    asked: Asked, horizons: Sequence[tuple[int, int]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each row, another row of the same horizon, if there is one."""
    order = np.arange(len(asked))
    for low, high in horizons:
        places = np.flatnonzero((asked.steps >= low) & (asked.steps <= high))
        places = rng.permutation(places)
        order[places] = np.roll(places, 1)
    return order
