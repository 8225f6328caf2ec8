"""Evaluate a question along a recorded episode, and ask policies at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question
from goalsets.check.relabeled import Relabeler
from goalsets.core import Episode, GoalSet
from goalsets.core.acting import Policy
from goalsets.data.trajectories import Trajectories
from goalsets.evaluate.ask import predict

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Said:
    """What one policy says along an episode of T steps."""

    actions: Floats
    """`[T, A]`, the actions that it would have taken, asked at every step, in the data's units."""
    distances: Floats | None
    """`[T + 1]`, in the policy's unit; None if it predicts no distance."""

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        told = self.distances is None or bool(np.isfinite(self.distances).all())
        return told and bool(np.isfinite(self.actions).all())


@dataclass(frozen=True, eq=False)
class Stands:
    """One term of a question along an episode."""

    name: str
    distance: Floats
    """`[T + 1]`, in observation units."""
    tolerance: float
    met: Flags
    """`[T + 1]`."""

    @property
    def tolerances(self) -> NDArray[np.float64]:
        """`[T + 1]`, the distance in tolerances: at most 1 where the term holds.

        A term with tolerance 0 is at 0 where it holds, and infinite elsewhere.
        """
        if self.tolerance > 0:
            return np.asarray(self.distance, np.float64) / self.tolerance
        return np.where(self.met, 0.0, np.inf)


@dataclass(frozen=True, eq=False)
class Along:
    """An episode of T steps under one question."""

    episode: Episode
    goals: GoalSet
    terms: tuple[Stands, ...]
    inside: Flags
    """`[T + 1]`, where the question is answered."""
    left: Floats
    """`[T + 1]`, steps that the data took from here to its arrival; NaN if it never arrived."""
    said: tuple[Said, ...]
    """By each policy."""

    @property
    def steps(self) -> int:
        """T."""
        return len(self.episode)

    def errors(self, number: int) -> Floats | None:
        """Mean absolute errors `[A]` of a policy's actions, on the way to an arrival.

        Those are the steps at which the question is open and the data answers it later. None if
        there are no such steps.
        """
        rows = np.isfinite(self.left[:-1]) & ~self.inside[:-1]
        if not rows.any():
            return None
        return np.abs(self.said[number].actions - self.episode.actions)[rows].mean(0)


def look_along(
    episode: Episode,
    goals: GoalSet,
    policies: Sequence[Policy],
    goal_step: int | None = None,
) -> Along:
    """Ask policies a question at every step of an episode.

    Args:
        episode: The recorded episode.
        goals: The question, with one reference.
        policies: The policies.
        goal_step: If the reference is a state of this episode, its step; otherwise None.
    """
    states = np.asarray(episode.observations, np.float32)
    inside = goals.contains(states)
    terms = tuple(
        Stands(v.name, np.asarray(v.distance, np.float32), v.tolerance, np.asarray(v.satisfied))
        for v in goals.violations(states)
    )
    left = steps_left(episode, goals, inside, goal_step)
    return Along(
        episode,
        goals,
        terms,
        inside,
        left,
        tuple(_ask(policy, states, goals) for policy in policies),
    )


def _ask(policy: Policy, states: Floats, goals: GoalSet) -> Said:
    acted = np.asarray(policy.act(states[:-1], goals.reference, goals.query), np.float32)
    return Said(acted, predict(policy, states, goals))


def steps_left(episode: Episode, goals: GoalSet, inside: Flags, goal_step: int | None) -> Floats:
    """Steps `[T + 1]` from each state of an episode to the data's arrival; NaN if there is none.

    If the reference is a state of this episode, the arrival is defined as in relabeling: the first
    state since which the question holds, up to the reference (`goalsets.relabel.arrivals`). For any
    other reference, and after the reference, it is the next state that answers the question.
    """
    places = np.arange(len(inside), dtype=np.float32)
    left = _to_next(inside)
    if goal_step is not None:
        alone = Trajectories.from_episodes([Episode(episode.observations, episode.actions)])
        held = Relabeler(alone).held(Question(str(goals.query), goals.query))
        arrival = goal_step - int(held[goal_step])
        before = (places < arrival) & ~inside
        left[before] = arrival - places[before]
    return left


def _to_next(inside: Flags) -> Floats:
    """Steps from each row to the next row inside the set, 0 inside; NaN if there is none."""
    length = len(inside)
    places = np.where(inside, np.arange(length), length)
    following = np.minimum.accumulate(places[::-1])[::-1]
    left = (following - np.arange(length)).astype(np.float32)
    left[following == length] = np.nan
    return left
