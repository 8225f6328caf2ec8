"""Does it act as the data does? Actions on held-out episodes, beside those of simple baselines.

All errors are those of actions after every bound, as a robot would be given them. In the action's
own units they are told for each component; to compare and to add up, a component's error is divided
by its deviation σ in the training data:

    e = mean over rows and components of |â − a| / σ
    skill over a baseline = 1 − e / e(baseline)

How small e can get depends on the data: nobody can foresee noise. So a policy is held to what
looking up gives: the mean action of the most similar situations of the training data, 20 of them,
which averages their noise. What a policy has learned is counted in that,

    learned = (e(mean) − e) / (e(mean) − e(look-up))

0 is the mean action, 1 what looking up gives. A trained network should know better than that.
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
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]
Still = Literal["zero", "repeat"]
"""What holding still means to a robot: the action zero, or the last action again."""
STILLS: tuple[Still, ...] = ("zero", "repeat")

_LITTLE = 0.05
"""What looking up gives at least counts as such a share of the mean action's error."""
_SAMPLE = 20_000
"""Transitions that tell what holding still is, …"""
_STILLEST = 0.1
"""… by this share of them, in which the state changed least."""


@dataclass(frozen=True)
class Errors:
    """Errors of one kind of action, over some rows."""

    scaled: float
    """e: in deviations of the data."""
    components: tuple[float, ...]
    """Mean absolute errors of the components, in their own units."""


@dataclass(frozen=True)
class AtHorizon:
    """What was found for arrivals of one horizon, or of all."""

    low: int
    high: int
    """Steps to the arrival, from and to."""
    rows: int
    policy: Errors
    still: Errors
    mean: Errors
    neighbour: Errors
    look_up: Errors
    """Of the mean action of several neighbours."""
    other_goal: Errors
    """Of the policy itself, when it is shown the goals of other rows."""
    direction: float
    """Mean cosine between the policy's action and the data's, both as seen from holding still."""
    same_way: float
    """The share of rows where that is above 0."""

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
        """How much nearer to the data it is than the mean action, compared with looking up."""
        looking_up = self.mean.scaled - self.look_up.scaled
        # Where looking up gives next to nothing, a little must do.
        least = max(looking_up, _LITTLE * self.mean.scaled, 1e-9)
        return (self.mean.scaled - self.policy.scaled) / least


@dataclass(frozen=True)
class Imitation:
    """How well a policy acts as held-out data does, asked one question."""

    overall: AtHorizon
    """All horizons together, each with equal weight in rows."""
    by_horizon: tuple[AtHorizon, ...]
    """Those that have rows."""


class Imitator:
    """Compares a policy's actions with those of held-out data.

    Args:
        policy: The policy.
        held_out: Held-out episodes, ready to be relabeled.
        normaliser: Of the training data.
        still: What holding still is; see `what_still_is`.
    """

    def __init__(
        self,
        policy: Policy,
        held_out: Relabeler,
        normaliser: Normaliser,
        still: Still,
    ) -> None:
        """Compare nothing yet."""
        self._policy = policy
        self._held_out = held_out
        self._normaliser = normaliser
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
            rng: Exchanges goals.
        """
        data, scale = self._held_out.data, self._normaliser.action_std
        states, goals = data.states(asked.rows), data.states(asked.goals)
        taken = data.taken_actions(asked.rows)
        still = still_actions(data, asked.rows, self._still)
        chosen = self._policy.act(states, goals, question.query)
        others = goals[_shuffled(asked, self._held_out.horizons, rng)]
        actions = {
            "policy": chosen,
            "still": still,
            "mean": np.broadcast_to(self._normaliser.action_mean, taken.shape),
            "neighbour": neighbours[:, 0],
            "look_up": neighbours.mean(1),
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
    """Tell from the data what holds the robot still.

    Where actions are velocities or differences, it is zero; where they are places to go to, it is
    the last action again. A log does not say which it is, but it shows: where the state hardly
    changed, the action was near the one or near the other.
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
    """The actions `[N, A]` that would have held the robot still at rows."""
    if still == "zero":
        return np.zeros((len(rows), data.actions.shape[1]), np.float32)
    first = np.isin(rows, data.offsets[:-1])
    before = data.taken_actions(np.where(first, rows, rows - 1))
    # At the first row of an episode nothing was commanded before.
    return np.where(first[:, None], np.float32(0), before)


def _cosines(one: Floats, other: Floats) -> Floats:
    """Cosines `[N]` between rows; not a number where one of them does not move."""
    length = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(length > 1e-9, (one * other).sum(1) / length, np.nan)


def _shuffled(
    asked: Asked, horizons: Sequence[tuple[int, int]], rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each row another one of its horizon, if there is one."""
    order = np.arange(len(asked))
    for low, high in horizons:
        places = np.flatnonzero((asked.steps >= low) & (asked.steps <= high))
        places = rng.permutation(places)
        order[places] = np.roll(places, 1)
    return order
