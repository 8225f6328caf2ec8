"""The question on the page: one `Query`, changed by chips, by sliders, or as text.

Every change makes a new query first. If that cannot be asked, an error is raised and the question
stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalsets.core import GoalSet, GoalsetsError, Group, Query, StateLayout
from goalsets.core.metrics import UNITS
from goalsets.envs.tasks import Task
from goalsets.evaluate.suites.description import SuiteError, shipped_description

_SPAN = 4.0
"""A slider goes up to this many times the layout's tolerance."""
_STEPS = 80
_WIDTH = 34
"""Characters of a question that a list has room for."""
_SHORT = ("task", "all")
"""Words of the query language whose names on the page are clearer."""


@dataclass(frozen=True)
class ReadyMade:
    """A question to pick from a list."""

    name: str
    text: str
    description: str

    @property
    def label(self) -> str:
        """Its query, or its name if the query is too long to read."""
        return self.text if self.text not in _SHORT and len(self.text) <= _WIDTH else self.name


@dataclass(frozen=True)
class Scale:
    """The slider of a tolerance, in a physical unit."""

    unit: str
    """Such as `cm` or `deg`; empty for observation units."""
    highest: float
    step: float


class Question:
    """A query over a layout, and the ways in which a page changes it."""

    def __init__(self, layout: StateLayout, text: str) -> None:
        """Begin with a question."""
        self.layout = layout
        self.query = self._askable(Query.parse(text, layout))

    def say(self, text: str) -> None:
        """Ask the query in a text."""
        self.query = self._askable(Query.parse(text, self.layout))

    def switch(self, name: str, on: bool) -> None:
        """Add a group to the question, or remove it."""
        group = self.layout.group(name)
        mask = self.query.mask.copy()
        mask[list(group.indices)] = on
        kept = {n: t for n, t in self.query.tolerances.items() if n != name}
        self.query = self._askable(Query(self.layout, mask, kept))

    def tolerate(self, name: str, value: float) -> None:
        """Set the tolerance of a group that is asked for, in the unit of its slider."""
        group = self.layout.group(name)
        scale = slider_scale(group)
        unit = "" if scale is None else scale.unit
        self.query = self._askable(
            self.query.with_tolerances({name: group.tolerance_from(value, unit)})
        )

    def asks(self, name: str) -> bool:
        """Whether any coordinate of a group is asked for."""
        return bool(self.query.mask[list(self.layout.group(name).indices)].any())

    def tolerance(self, name: str) -> float | None:
        """A group's tolerance, in the unit of its slider."""
        group = self.layout.group(name)
        value = self.query.tolerances.get(name, group.tolerance)
        return None if value is None else in_slider_unit(group, value)

    def _askable(self, query: Query) -> Query:
        """Return a query under which states can be judged, or raise an error."""
        GoalSet(np.zeros(query.layout.dim, dtype=np.float32), query)
        return query


def slider_scale(group: Group) -> Scale | None:
    """The slider of a group's tolerance; None if it has none."""
    if group.metric == "exact" or not group.tolerance:
        return None
    unit = {"m": "cm", "rad": "deg"}.get(group.natural_unit, "")
    highest = _SPAN * in_slider_unit(group, group.tolerance)
    if group.metric in ("angle", "quaternion"):
        highest = min(highest, 180.0)
    return Scale(unit, _rounded(highest), _rounded(highest) / _STEPS)


def in_slider_unit(group: Group, tolerance: float) -> float:
    """A tolerance in observation units, in the unit of its slider."""
    unit = {"m": "cm", "rad": "deg"}.get(group.natural_unit)
    if unit is None:
        return tolerance
    return group.in_natural_unit(tolerance) / UNITS[unit][1]


def ready_made(task: Task) -> list[ReadyMade]:
    """The task's own question, the predicates of its suite, and the whole state.

    A task without a suite of its own has the aliases of its layout instead.
    """
    found = [ReadyMade("task", "task", "the official question of this task")]
    try:
        predicates = shipped_description(task.name).predicates
    except SuiteError:
        for alias, text in task.layout.aliases.items():
            found.append(ReadyMade(alias, text, text))
    else:
        for predicate in predicates:
            text = str(predicate.parse(task.layout))
            found.append(ReadyMade(predicate.name, text, predicate.description))
    found.append(ReadyMade("everything", "all", "every coordinate of the state"))
    return [ready for ready in _distinct(found, task.layout) if _works(ready, task.layout)]


def _distinct(found: list[ReadyMade], layout: StateLayout) -> list[ReadyMade]:
    """Of questions that ask the same, keep the last, which has the better name."""
    by_query = {Query.parse(ready.text, layout): ready for ready in found}
    return list(by_query.values())


def _works(ready: ReadyMade, layout: StateLayout) -> bool:
    try:
        Question(layout, ready.text)
    except GoalsetsError:
        return False
    return True


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
