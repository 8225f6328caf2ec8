"""Turn requests into arrays, and arrays into answers.

All mistakes of a client are found here, before a network gets the numbers: wrong lengths, numbers
that are not finite, goals without a coordinate that the query asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalSet, Group, Query, StateLayout
from goalsets.core.acting import Memory
from goalsets.core.errors import suggest
from goalsets.evaluate.ask import doubts_of_hearing
from goalsets.serve.errors import invalid
from goalsets.serve.models import Model

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]
Numbers = Sequence[float] | Sequence[Sequence[float]]

_LARGEST = float(np.finfo(np.float32).max)
"""Policies compute in single precision: larger numbers become infinite."""


def read_states(what: str, values: Numbers, layout: StateLayout, rows: int = 1) -> Floats:
    """Check and convert one state to `[D]`, or many to `[B, D]`.

    Args:
        what: The name of the values in errors.
        values: The values; flat for one state.
        layout: The layout of a state.
        rows: The largest number of states.
    """
    many = bool(values) and isinstance(values[0], Sequence)
    if many and len(values) > rows:
        raise invalid(f"{what} may have {rows:,} rows at most, got {len(values):,}.")
    for row, state in enumerate(values if many else [values]):
        if not isinstance(state, Sequence) or len(state) != layout.dim:
            where = f"{what}, row {row}," if many else what
            found = len(state) if isinstance(state, Sequence) else "a single number"
            raise invalid(
                f"{where} needs {layout.dim} coordinates, as layout {layout.name!r} has; "
                f"got {found}."
            )
    array = np.array(values, dtype=np.float64)
    # A comparison with NaN is false, so this finds NaN, too.
    if not (np.abs(array) <= _LARGEST).all():
        raise invalid(_say_unusable(what, array, layout))
    return array


def _say_unusable(what: str, array: Floats, layout: StateLayout) -> str:
    *row, column = np.argwhere(~(np.abs(array) <= _LARGEST))[0].tolist()
    value = array[(*row, column)]
    where = f"{what}, row {row[0]}," if row else what
    # Write it as JSON libraries do: NaN, Infinity.
    shown = "NaN" if np.isnan(value) else f"{value:g}".replace("inf", "Infinity")
    return f"{where} must be finite in single precision: {layout.describe(column)} is {shown}."


def read_goal(
    goal: Numbers | Mapping[str, float | Sequence[float]],
    query: Query,
    model: Model,
    rows: int = 1,
    shown: Masks | None = None,
) -> Floats:
    """Read a goal: full states, or groups by name.

    In a goal by names, all other coordinates are zero. That is harmless only if nothing reads them.
    So the names must cover all coordinates in `shown`; by default these are the coordinates that
    the policy sees under this query.
    """
    if not isinstance(goal, Mapping):
        return read_states("goal", goal, model.layout, rows)
    reference = np.zeros(model.layout.dim)
    given = np.zeros(model.layout.dim, dtype=np.bool_)
    for name, values in goal.items():
        if name not in model.layout.by_name:
            raise invalid(
                f"the goal names an unknown group {name[:64]!r}: "
                f"{suggest(name[:64], model.layout.by_name)}"
            )
        group = model.layout.by_name[name]
        indices = list(group.indices)
        reference[indices] = _read_group(group, values, model.layout)
        given[indices] = True
    needed = query.mask | model.policy.hears(query) if shown is None else shown
    _check_given(given, needed, query, model)
    return reference


def _read_group(
    group: Group, values: float | Sequence[float], layout: StateLayout
) -> Sequence[float]:
    row = values if isinstance(values, Sequence) else [values]
    if len(row) != len(group.indices):
        raise invalid(
            f"the goal's {group.name!r} needs {len(group.indices)} coordinates, got {len(row)}."
        )
    for index, value in zip(group.indices, row, strict=True):
        if not abs(value) <= _LARGEST:
            array = np.zeros(layout.dim)
            array[index] = value
            raise invalid(_say_unusable("goal", array, layout))
    return row


def _check_given(given: Masks, shown: Masks, query: Query, model: Model) -> None:
    layout = model.layout
    missing = np.flatnonzero(shown & ~given)
    if len(missing):
        reason = (
            "which the query asks for"
            if query.mask[missing[0]]
            else f"which a policy trained with {model.run.config.scheme} sees"
        )
        raise invalid(f"the goal leaves open {layout.describe(int(missing[0]))}, {reason}.")


def act(
    model: Model,
    observation: Floats,
    goal: Floats,
    query: Query,
    distance: bool,
    memory: Memory | None = None,
) -> tuple[NDArray[np.float32], Any]:
    """Choose actions `[A]` or `[B, A]`, and predict distances if requested."""
    if distance:
        check_distance(model)
    _check_pairs(observation, goal)
    # Pass the mask, not the query: a policy remembers queries, and clients may send many.
    actions = choose(model, observation, goal, query.mask, memory)
    return actions, predict(model, observation, goal, query.mask) if distance else None


def check_distance(model: Model) -> None:
    """Raise an error if a model learns no distance."""
    if model.policy.distance_unit is None:
        raise invalid(f"{model.run.config.learner} learns no distance: leave out 'distance'.")


def choose(
    model: Model, observation: Floats, goal: ArrayLike, mask: Masks, memory: Memory | None
) -> NDArray[np.float32]:
    """Choose actions `[A]` or `[B, A]` under a mask `[D]`."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(model.policy.act(observation, goal, mask, memory=memory))


def predict(model: Model, observation: Floats, goal: Floats, mask: Masks) -> NDArray[np.float32]:
    """Predict distances `[]` or `[B]` under a mask `[D]`."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite(model.policy.distance(observation, goal, mask))


def _finite(answer: NDArray[np.float32]) -> NDArray[np.float32]:
    if not np.isfinite(answer).all():
        raise invalid(
            "the policy's answer is not finite: the observation or the goal is too far from its "
            "training data."
        )
    return answer


def check_one_goal(goal: Floats) -> None:
    """Raise an error if there is a batch of goals."""
    if goal.ndim != 1:
        raise invalid("expected one goal, got a batch.")


def check(states: Floats, goals: GoalSet) -> dict[str, Any]:
    """Judge states: whether they lie in the goal set, and the distance of each requirement."""
    _check_pairs(states, goals.reference)
    return {
        "contains": goals.contains(states).tolist(),
        "terms": [_term(found, goals.layout) for found in goals.violations(states)],
    }


def _term(found: Any, layout: StateLayout) -> dict[str, Any]:  # noqa: ANN401 - a Violation
    group = layout.by_name.get(found.name) or Group.loose(int(found.name[1:-1]))
    apart = np.asarray(found.distance)
    unit = group.natural_unit if group.metric != "exact" else ""
    in_unit = np.vectorize(group.in_natural_unit, otypes=[float])(apart) if unit else None
    return {
        "name": found.name,
        "satisfied": np.asarray(found.satisfied).tolist(),
        "distance": apart.tolist(),
        "tolerance": found.tolerance,
        "unit": unit or None,
        "distance_in_unit": None if in_unit is None else in_unit.tolist(),
        "tolerance_in_unit": group.in_natural_unit(found.tolerance) if unit else None,
    }


def say_doubts(model: Model, query: Query) -> list[str]:
    """Warnings about this policy and this question."""
    return doubts_of_hearing(query, model.policy)


def _check_pairs(states: Floats, goals: Floats) -> None:
    if states.ndim == goals.ndim == 2 and len(states) != len(goals):
        raise invalid(
            f"there are {len(states)} states and {len(goals)} goals: give as many of each, or one "
            "goal for all."
        )
