"""A plan: a chain of goal sets. The policy is asked for each of them until it is reached."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, Query
from goalsets.core.durations import duration
from goalsets.plan.found import Move
from goalsets.plan.parts import Flags, Floats


@dataclass(frozen=True, eq=False)
class Step:
    """One question of a plan."""

    goals: GoalSet
    """The goal set of the step."""
    parts: tuple[str, ...]
    """The names of the parts that it moves, for people."""
    steps: float
    """How many steps it should take: its price."""
    far: float
    """The distance to the nearest recorded move, in tolerances."""
    support: int
    """The number of similar recorded moves."""
    aside: bool
    """Whether it moves something out of the way, to a place that the goal does not ask for."""
    move: Move | None = None
    """The move, which gets a penalty in later plans if it fails."""
    along: tuple[str, ...] = ()
    """Groups of the robot that are asked for, too. The step also holds without them."""

    @functools.cached_property
    def mask(self) -> Flags:
        """The coordinates `[D]` that the policy is asked for."""
        mask = self.goals.query.mask.copy()
        for name in self.along:
            mask[list(self.goals.layout.group(name).indices)] = True
        return mask

    def holds(self, state: Floats) -> bool:
        """Whether a state `[D]` is in the goal set.

        This is called at every step of a robot, and the answer is nearly always no. So for speed
        one coordinate is checked first. Under every metric except that of quaternions, each single
        coordinate must be within the tolerance.
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
        """The values that are asked for, as text: `block0_pos = (0.43, 0.1, 0.02) m`."""
        return ", ".join(_value(self.goals, term.name) for term in self.goals.query.terms)

    @property
    def evidence(self) -> str:
        """The evidence in the data, as text."""
        if self.support == 0:
            return f"the nearest move in the data is {self.far:.1f} tolerances away"
        return f"{self.support:,} such moves in the data"

    def __str__(self) -> str:
        """Text such as `block0_pos = (0.4, 0.1, 0.02) m: about 88 steps; 48 such moves ...`."""
        away = " (on the way)" if self.aside else ""
        along = "".join(f", with {_value(self.goals, name)}" for name in self.along)
        return f"{self.asked}{along}{away}: about {self.steps:.0f} steps; {self.evidence}"


@dataclass(frozen=True, eq=False)
class Plan:
    """A chain of questions that leads to a goal set."""

    goals: GoalSet
    """The goal set at the end of the chain."""
    steps: tuple[Step, ...]
    """The steps in order; empty if the goal is reached already, or if no chain was found."""
    missing: str = ""
    """Why there is no chain; empty if there is one."""

    @property
    def found(self) -> bool:
        """Whether there is a chain."""
        return not self.missing

    @property
    def price(self) -> float:
        """How many steps the plan should take."""
        return sum(step.steps for step in self.steps)

    def explain(self, rate: float | None = None) -> str:
        """The chain as text, with the price and the evidence of each move.

        Args:
            rate: Steps a second, to give the total price in seconds too.
        """
        if self.missing:
            return f"no chain leads to “{self.goals.query}”: {self.missing}"
        if not self.steps:
            return f"“{self.goals.query}” holds already."
        lines = [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]
        return "\n".join([*lines, f"about {duration(self.price, rate)} in all"])


def _value(goals: GoalSet, name: str) -> str:
    """The value that one term of a goal set asks for, as text."""
    group = goals.layout.by_name.get(name)
    if group is None:
        return name
    values: NDArray[np.float64] = np.asarray(goals.reference)[list(group.indices)] / group.scale
    if group.metric == "angle":
        return f"{name} = {np.degrees(np.arctan2(values[1], values[0])):.0f} deg"
    # Round first: a simulator gives values such as 2e-18 and -0.0 for zero.
    numbers = ", ".join(f"{round(float(value), 3) + 0.0:.3g}" for value in values)
    text = f"({numbers})" if len(values) > 1 else numbers
    return f"{name} = {text}" + (f" {group.unit}" if group.unit else "")


def ask_for(layout_query: str, reference: Floats, goals: GoalSet) -> GoalSet:
    """A goal set over another query of the same layout, with the tolerances of `goals`."""
    query = Query.parse(layout_query, goals.layout)
    given = {t.name: t.tolerance for t in goals.query.terms if t.tolerance}
    kept = {t.name: given[t.name] for t in query.terms if t.name in given}
    return GoalSet(reference, query.with_tolerances(kept) if kept else query)


def names(steps: Sequence[Step]) -> list[str]:
    """The names of the parts that each step moves, for people."""
    return [" and ".join(step.parts) for step in steps]
