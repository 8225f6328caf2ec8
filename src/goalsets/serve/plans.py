"""Plans on the server: make, follow and describe chains of questions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet
from goalsets.plan import Follower, Following, Plan, Planner, Step
from goalsets.serve import questions
from goalsets.serve.errors import ServeError, invalid
from goalsets.serve.models import Model

_LARGEST = 1e9
"""Largest number for a planner, which squares distances in single precision."""
_TRIED = 256
"""Failed moves to remember in a session, which may never end."""


def planner_of(model: Model) -> Planner:
    """A model's planner, or an error that says that it has none."""
    if model.planner is None:
        raise ServeError(
            422,
            "no_planner",
            f"model {model.name!r} has no planner: run 'goalsets plan' on it once and start the "
            "server again, or ask without a plan.",
        )
    return model.planner


def make(model: Model, state: questions.Floats, goals: GoalSet) -> dict[str, Any]:
    """Make a plan from a state `[D]`, as plain data. This may take most of a second."""
    _check_near("observation", state)
    _check_near("goal", goals.reference)
    return tell(planner_of(model).plan(np.asarray(state, np.float32), goals))


def tell(plan: Plan, at: int = 0, plans: int = 1) -> dict[str, Any]:
    """A plan as plain data.

    Args:
        plan: The chain.
        at: The number of the current step.
        plans: How many plans were made for this question.
    """
    return {
        "found": plan.found,
        "missing": plan.missing or None,
        "steps": [_tell_step(step) for step in plan.steps],
        "price": _finite(plan.price),
        "due": at if at < len(plan.steps) else None,
        "plans": plans,
        "text": plan.explain(),
    }


def _tell_step(step: Step) -> dict[str, Any]:
    reference = np.asarray(step.goals.reference, np.float64)
    return {
        "words": str(step),
        "query": str(step.goals.query),
        "values": {
            term.name: reference[list(term.indices)].tolist() for term in step.goals.query.terms
        },
        "parts": list(step.parts),
        "price": _finite(step.steps),
        "support": step.support,
        "far": _finite(step.far),
        "aside": step.aside,
    }


def _finite(value: float) -> float | None:
    """A price for JSON, which has no infinity: None if no road leads there."""
    return float(value) if math.isfinite(value) else None


def _check_near(what: str, values: Any) -> None:  # noqa: ANN401 - an array
    if not (np.abs(values) <= _LARGEST).all():
        raise invalid(f"{what} has numbers beyond {_LARGEST:.0e}, too large for a plan.")


class Course:
    """One session's progress along its plan.

    Args:
        model: The model that acts.
        goals: The question.
    """

    def __init__(self, model: Model, goals: GoalSet) -> None:
        """No plan is made before a state is seen."""
        _check_near("goal", goals.reference)
        self._model, self._goals = model, goals
        self._follower = Follower(planner_of(model))
        self._following: Following | None = None
        self._told: tuple[Plan, int] | None = None

    def act(self, state: questions.Floats) -> tuple[NDArray[np.float32], dict[str, Any] | None]:
        """Choose an action `[A]` in a state `[D]`, and return the plan if it has changed.

        It changes when it is made or made again, and when a step is done.
        """
        _check_near("observation", state)
        seen = np.asarray(state, np.float32)
        if self._following is None:
            self._following = self._follower.begin(seen, self._goals)
            self._following.memory = self._model.policy.reset()
        following = self._following
        if len(following.penalties.extra) > _TRIED:
            following.penalties.extra.clear()
        reference, mask = self._follower.question(following, seen)
        action = questions.choose(self._model, state, reference, mask, following.memory)
        action = following.shaking.shake(action, seen, self._follower.planner.deviations)
        now = (following.plan, following.at)
        if self._told is not None and self._told[0] is now[0] and self._told[1] == now[1]:
            return action, None
        self._told = now
        return action, tell(following.plan, following.at, following.plans)
