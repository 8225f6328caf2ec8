"""A plan: a chain of goal sets, each a question that a policy is asked until it holds."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, Query
from goalsets.core.durations import duration
from goalsets.plan.found import Move
from goalsets.plan.parts import Floats


@dataclass(frozen=True, eq=False)
class Step:
    """One question of a plan."""

    goals: GoalSet
    """What is asked."""
    parts: tuple[str, ...]
    """What it moves, for people."""
    steps: float
    """What it should take: the price."""
    far: float
    """How many tolerances the nearest recorded move is away."""
    support: int
    """How many recorded moves are like it."""
    aside: bool
    """Whether it puts something out of the way, where nobody asked for it."""
    move: Move | None = None
    """What is searched for again, or avoided, when it does not work out."""

    def holds(self, state: Floats) -> bool:
        """Whether a state `[D]` is what is asked for.

        It is asked at every step of a robot, and the answer is nearly always no. So one coordinate
        is looked at first: under every metric but that of quaternions it must be near by itself.
        """
        column, value, tolerance = self._first
        if abs(float(state[column]) - value) > tolerance:
            return False
        return bool(self.goals.contains(state))

    @functools.cached_property
    def _first(self) -> tuple[int, float, float]:
        term = self.goals.query.terms[0]
        column = int(term.indices[0])
        known = term.tolerance is not None and term.group.metric != "quaternion"
        slack = float(term.tolerance or 0.0) * (1 + 1e-5) + 1e-6 if known else np.inf
        return column, float(np.asarray(self.goals.reference)[column]), slack

    @property
    def asked(self) -> str:
        """The values that are asked for, in words: `block0_pos = (0.43, 0.1, 0.02) m`."""
        return ", ".join(_value(self.goals, term.name) for term in self.goals.query.terms)

    @property
    def evidence(self) -> str:
        """The data behind it, in words."""
        if self.support == 0:
            return f"the nearest move in the data is {self.far:.1f} tolerances away"
        return f"{self.support:,} such moves in the data"

    def __str__(self) -> str:
        """Such as `block0_pos = (0.4, 0.1, 0.02) m: about 88 steps; 48 such moves in the data`."""
        away = " (on the way)" if self.aside else ""
        return f"{self.asked}{away}: about {self.steps:.0f} steps; {self.evidence}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A chain of questions that leads to a goal set."""

    goals: GoalSet
    """What it leads to."""
    steps: tuple[Step, ...]
    """In order; empty where everything holds already, or where no chain was found."""
    missing: str = ""
    """Why there is no chain; empty if there is one."""

    @property
    def found(self) -> bool:
        """Whether there is a chain."""
        return not self.missing

    @property
    def price(self) -> float:
        """Steps that it should take."""
        return sum(step.steps for step in self.steps)

    def explain(self, rate: float | None = None) -> str:
        """The chain in words, with prices and the data behind each move.

        Args:
            rate: Steps a second, to tell the price of all in seconds, too.
        """
        if self.missing:
            return f"no chain leads to “{self.goals.query}”: {self.missing}"
        if not self.steps:
            return f"“{self.goals.query}” holds already."
        lines = [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]
        return "\n".join([*lines, f"about {duration(self.price, rate)} in all"])


def _value(goals: GoalSet, name: str) -> str:
    """What one term of a goal set asks for, for people."""
    group = goals.layout.by_name.get(name)
    if group is None:
        return name
    values: NDArray[np.float64] = np.asarray(goals.reference)[list(group.indices)] / group.scale
    if group.metric == "angle":
        return f"{name} = {np.degrees(np.arctan2(values[1], values[0])):.0f} deg"
    # Rounded first: a simulator's nothing is 2e-18, and its minus nothing is none.
    numbers = ", ".join(f"{round(float(value), 3) + 0.0:.3g}" for value in values)
    text = f"({numbers})" if len(values) > 1 else numbers
    return f"{name} = {text}" + (f" {group.unit}" if group.unit else "")


def ask_for(layout_query: str, reference: Floats, goals: GoalSet) -> GoalSet:
    """A goal set over another query of the same layout, with the tolerances that somebody gave."""
    query = Query.parse(layout_query, goals.layout)
    given = {t.name: t.tolerance for t in goals.query.terms if t.tolerance}
    kept = {t.name: given[t.name] for t in query.terms if t.name in given}
    return GoalSet(reference, query.with_tolerances(kept) if kept else query)


def names(steps: Sequence[Step]) -> list[str]:
    """What each step moves, for people."""
    return [" and ".join(step.parts) for step in steps]
