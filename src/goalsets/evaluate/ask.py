"""Ask one question: how much data supports it, what the policy does, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, GoalsetsError, Query, Violation
from goalsets.core.acting import Policy
from goalsets.core.margins import margin
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.rollout import EpisodeSpec, World, run_episode

Floats = NDArray[np.float32]

_ROWS = 200_000
"""States to judge at a time, so that a mapped store is not read into memory."""


@dataclass(frozen=True)
class Support:
    """How much of a split lies in a goal set."""

    states: int
    all_states: int
    episodes: int
    """Episodes that pass through the set."""
    all_episodes: int
    nearest: float
    """Distance of the nearest state, in tolerances; at most 1 if a state lies inside."""

    def __str__(self) -> str:
        """Such as `120 of 30,030 states, in 4 of 30 episodes`."""
        return (
            f"{self.states:,} of {self.all_states:,} states, in {self.episodes:,} of "
            f"{self.all_episodes:,} episodes"
        )


@dataclass(frozen=True)
class Answer:
    """How an episode went."""

    success: bool
    steps: int
    observations: Floats
    """`[T + 1, D]`."""
    violations: tuple[Violation, ...]
    """Distance and tolerance of each term at the end."""
    distances: Floats | None
    """`[T + 1]`, the predicted distances; None for learners without a distance."""


def support(goals: GoalSet, data: Trajectories) -> Support:
    """Count the states of a split that lie in a goal set."""
    inside, nearest = 0, np.inf
    episodes: set[int] = set()
    for start in range(0, data.num_states, _ROWS):
        states = data.observations[start : start + _ROWS]
        rows = np.flatnonzero(goals.contains(states)) + start
        inside += len(rows)
        episodes.update((np.searchsorted(data.offsets, rows, side="right") - 1).tolist())
        nearest = min(nearest, float(margin(goals, states).min()))
    return Support(inside, data.num_states, len(episodes), data.num_episodes, nearest)


def predict(policy: Policy, observations: Floats, goals: GoalSet) -> Floats | None:
    """Predicted distances `[B]` of observations `[B, D]`; None for learners without a distance."""
    if policy.distance_unit is None:
        return None
    return np.asarray(policy.distance(observations, goals.reference, goals.query))


def doubts(goals: GoalSet, policy: Policy, seen: Support | None) -> list[str]:
    """Warnings about a question, before anyone trusts the answer.

    Args:
        goals: The question.
        policy: The policy.
        seen: How much of the training data answers it; None if not known.
    """
    found = doubts_of_hearing(goals.query, policy)
    if seen is None:
        return found
    if seen.states == 0:
        near = (
            "no state matches the groups that must be equal"
            if np.isinf(seen.nearest)
            else f"the nearest is {seen.nearest:.1f} tolerances away"
        )
        found.append(
            f"no training state answers this question ({near}): the data does not show how to get "
            "there, so the policy can only guess."
        )
    elif seen.episodes < max(2, seen.all_episodes // 1000):
        found.append(
            f"only {seen.episodes} of {seen.all_episodes:,} training episodes answer this question."
        )
    return found


def doubts_of_hearing(query: Query, policy: Policy) -> list[str]:
    """Warnings if a policy cannot take exactly this question."""
    shown, asked = policy.hears(query), query.mask
    if (asked & ~shown).any():
        return [f"this policy answers {policy.answers}: it does not see all of this question."]
    if (shown & ~asked).any():
        return [
            f"this policy answers {policy.answers}: it sees more of the reference than the "
            "question asks for, and tries to match it all. Success is judged by the question."
        ]
    return []


def ask(
    world: World,
    policy: Policy,
    goals: GoalSet,
    *,
    task: str,
    task_id: int,
    seed: int,
) -> Answer:
    """Run one episode towards a goal set, and report how it ended."""
    goal = tuple(float(v) for v in goals.reference)
    spec = EpisodeSpec(task, task_id, seed, str(goals.query), goal, trace=True)
    result = run_episode(world, policy, spec)
    assert result.trace is not None
    observations = result.trace["observations"]
    return Answer(
        success=result.success,
        steps=result.steps,
        observations=observations,
        violations=goals.violations(observations[-1]),
        distances=predict(policy, observations, goals),
    )


def draw_answer(answer: Answer, goals: GoalSet, unit: str | None, path: Path) -> None:
    """Draw the predicted distance over time, and below it the distance of each term."""
    from matplotlib.figure import Figure

    panels = 1 if answer.distances is None else 2
    figure = Figure(figsize=(7.0, 2.6 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    steps = np.arange(len(answer.observations))
    if answer.distances is not None:
        axes[0].plot(steps, answer.distances)
        axes[0].set_ylabel(f"predicted distance\n({unit})")
    for term in goals.violations(answer.observations):
        if term.tolerance > 0:
            axes[-1].plot(steps, term.distance / term.tolerance, label=term.name)
        else:
            axes[-1].plot(steps, np.where(term.satisfied, 0.0, 2.0), label=f"{term.name} (equal)")
    axes[-1].axhline(1.0, color="grey", linewidth=0.8, linestyle="--")
    axes[-1].set_ylabel("distance\n(tolerances)")
    axes[-1].set_xlabel("step")
    axes[-1].legend(fontsize=8)
    ended = f"reached after {answer.steps} steps" if answer.success else "not reached"
    axes[0].set_title(f"“{goals.query}”: {ended}", fontsize=10)
    figure.savefig(path, dpi=120)


def check_task(task: str) -> None:
    """Raise an error for a run whose task has no environment."""
    if task not in TASKS:
        raise GoalsetsError(
            f"the run was trained on {task!r}, which has no environment to run. 'goalsets check "
            "RUN' judges it by its data."
        )
