"""Visits states of a task, random ones and some near goals, to check whether its parts agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, Query
from goalsets.core.margins import margin
from goalsets.envs.adapter import Adapter, CannotError, Floats, Stepped

_CLEAR = 0.5
"""A disagreement is clear if the state is this many tolerances away from the border. Nearer to it,
the environment's target may differ slightly from the observed goal."""
_RETURN = 0.2
"""A restored state counts as the same if it differs by up to this many tolerances."""
_SPREADS = (0.0, 0.3, 0.45, 0.8, 1.3, 1.8, 3.0)
"""How far from the goal states are put, in tolerances."""


@dataclass
class Verdicts:
    """How often the environment and the official query agree."""

    states: int = 0
    reached: int = 0
    """States that reach the goal, by the environment's report."""
    silent: int = 0
    """States for which the environment reports nothing."""
    wrong: list[str] = field(default_factory=list[str])
    """Clear disagreements, each in words."""
    close: int = 0
    """Disagreements near the border of a tolerance."""

    def judge(self, number: int, goals: GoalSet, step: Stepped) -> None:
        """Compare the environment's verdict on a state with that of a goal set."""
        self.states += 1
        if step.success is None:
            self.silent += 1
            return
        self.reached += step.success
        inside = bool(goals.contains(step.observation))
        if inside == step.success:
            return
        away = float(margin(goals, step.observation))
        if abs(away - 1.0) < _CLEAR:
            self.close += 1
            return
        said = "reached" if step.success else "not reached"
        self.wrong.append(
            f"goal {number}: the environment reports {said} at {away:.3g} tolerances from it"
        )


def random_action(world: Adapter, rng: np.random.Generator) -> Floats:
    """A random action `[A]` in the form of a policy's action."""
    from gymnasium import spaces

    bounds, space = world.action_bounds, world.action_space
    if bounds is not None:
        return rng.uniform(*bounds).astype(np.float32)
    if isinstance(space, spaces.Box):
        return rng.standard_normal(int(np.prod(space.shape))).astype(np.float32)
    if isinstance(space, spaces.Discrete):
        return np.array([space.start + rng.integers(space.n)], dtype=np.float32)
    raise CannotError(
        f"{world.task.name} has actions of the kind {space}: its adapter, "
        f"{type(world).__name__}, must define action(values) and action_bounds."
    )


def resting_action(world: Adapter, rng: np.random.Generator) -> Floats:
    """The middle of the bounds, which moves little in most worlds; a random action without them."""
    bounds = world.action_bounds
    if bounds is None:
        return random_action(world, rng)
    return ((bounds[0] + bounds[1]) / 2).astype(np.float32)


def near(goal: Floats, query: Query, rng: np.random.Generator) -> Iterator[Floats]:
    """States like the goal, in which the coordinates of the query are shifted a little."""
    for spread in _SPREADS:
        state = goal.copy()
        for term in query.terms:
            indices = list(term.indices)
            apart = spread * (term.tolerance or 0.0)
            if term.group.metric == "euclidean":
                away = rng.standard_normal(len(indices))
                state[indices] += apart * away / max(float(np.linalg.norm(away)), 1e-9)
            elif term.group.metric == "absolute":
                state[indices] += apart * rng.choice([-1.0, 1.0], len(indices))
        yield state


def changed_groups(world: Adapter, before: Floats, after: Floats) -> list[str]:
    """The groups of a state that have changed by more than a part of their tolerances."""
    found: list[str] = []
    for group in world.task.layout.groups:
        query = Query.parse(group.name, world.task.layout)
        slack = _RETURN * (1.0 if group.tolerance is None else group.tolerance)
        if not bool(GoalSet(before, query, tolerances={group.name: slack}).contains(after)):
            found.append(group.name)
    return found


def differing(world: Adapter, ours: NDArray[np.floating], theirs: NDArray[np.floating]) -> str:
    """Where two states differ, as text; empty if they are equal."""
    if ours.shape != theirs.shape:
        return f"shapes {list(ours.shape)} and {list(theirs.shape)}"
    places = np.flatnonzero(ours != theirs)
    layout = world.task.layout
    names = dict.fromkeys(
        layout.describe(int(i)) if i < layout.dim else f"coordinate {i}" for i in places
    )
    return ", ".join(list(names)[:3]) + (" and others" if len(names) > 3 else "")
