"""Turns observations into states: a vector unchanged, a dictionary joined in a defined order.

The order is that of the data sources (`goalsets.core.flatten`): the given keys, or else all dotted
keys, sorted. So a layout for logs of an environment also fits the environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.field_names import groups as field_groups
from goalsets.core.flatten import (
    FieldSpec,
    Shape,
    choose_fields,
    flatten,
    leaves,
    total_size,
    vector_shape,
)
from goalsets.envs.adapter import Adapter
from goalsets.envs.task import Task

Floats = NDArray[np.float32]

GOALS = ("achieved_goal", "desired_goal")
"""The goals that goal environments put beside the state."""


def space_leaves(space: spaces.Space[Any]) -> dict[str, spaces.Space[Any]]:
    """The spaces in nested dictionaries and tuples by dotted keys; a single one has the key ''."""

    def opened(node: spaces.Space[Any]) -> object:
        if isinstance(node, spaces.Dict):
            return {key: opened(part) for key, part in node.spaces.items()}
        if isinstance(node, spaces.Tuple):
            return tuple(opened(part) for part in node.spaces)
        return node

    return leaves(opened(space))


def space_shapes(space: spaces.Space[Any]) -> dict[str, Shape | None]:
    """The shape of each entry of a space; None if it does not hold numbers."""
    return {key: _shape(part) for key, part in space_leaves(space).items()}


def _shape(space: spaces.Space[Any]) -> Shape | None:
    if space.shape is None or space.dtype is None:
        return None
    return vector_shape(tuple(space.shape), space.dtype)


def dict_fields(space: spaces.Space[Any], keys: Sequence[str] = ()) -> tuple[FieldSpec, ...]:
    """The fields that make up the state of dictionary observations.

    Args:
        space: The space of the observations.
        keys: The dotted keys to take, in the order of the state. By default all vectors, sorted,
            without `achieved_goal` and `desired_goal`.
    """
    shapes = space_shapes(space)
    if not keys:
        shapes = {key: shape for key, shape in shapes.items() if key.split(".")[0] not in GOALS}
    return choose_fields(shapes, keys)[0]


class DictAdapter(Adapter):
    """An adapter for an environment with dictionary observations that belongs to no task."""

    def __init__(self, env: Any, layout: StateLayout, fields: Sequence[FieldSpec]) -> None:  # noqa: ANN401
        """Keep the fields that make up the state."""
        super().__init__(_nameless(layout), env)
        self.fields = tuple(fields)

    def observe(self, raw: Any) -> Floats:  # noqa: ANN401 - whatever the environment observes
        """Join the entries of a dictionary."""
        return flatten(raw, self.fields, leading=0)

    def goal_state(self, raw: Any, info: Mapping[str, Any]) -> Floats:  # noqa: ANN401 - as above
        """The goal as a state. A `desired_goal` needs a layout with an official query."""
        if "goal" not in info and self.task.layout.task is None:
            raise self.cannot("give its goal as a full state", "goal_state(raw, info)")
        return super().goal_state(raw, info)


def as_adapter(
    env: gymnasium.Env[Any, Any] | Adapter, layout: StateLayout | None, keys: Sequence[str]
) -> tuple[Adapter, StateLayout]:
    """An adapter that turns observations into states, and their layout."""
    if isinstance(env, Adapter):
        if keys:
            raise GoalsetsError(
                "keys are for environments with dictionary observations, got an adapter: leave "
                "keys out."
            )
        return env, layout or env.task.layout
    space = env.observation_space
    layout = layout or getattr(env.unwrapped, "layout", None)
    if isinstance(space, spaces.Dict | spaces.Tuple):
        fields = dict_fields(space, keys)
        layout = layout or StateLayout(total_size(fields), list(field_groups(fields)))
        _check_size(layout, total_size(fields), f"{', '.join(field.name for field in fields)}")
        return DictAdapter(env, layout, fields), layout
    if keys:
        raise GoalsetsError(
            f"keys are for environments with dictionary observations; {env} observes {space}: "
            "leave keys out."
        )
    if layout is None:
        raise GoalsetsError(f"{env} has no layout of its own: give GoalSetEnv a layout.")
    if not isinstance(space, spaces.Box) or space.shape != (layout.dim,):
        raise GoalsetsError(
            f"layout {layout.name!r} needs observations of shape ({layout.dim},), but {env} "
            f"observes {space}."
        )
    return Adapter(_nameless(layout), env), layout


def _check_size(layout: StateLayout, size: int, taken: str) -> None:
    if layout.dim != size:
        raise GoalsetsError(
            f"layout {layout.name!r} has {layout.dim} coordinates, but the observation has {size} "
            f"in {taken}: name the keys that make up the state, GoalSetEnv(..., keys=[...])."
        )


def _nameless(layout: StateLayout) -> Task:
    """A task for an environment that belongs to no task."""
    return Task("this environment", "", layout, 1, 1)


def state_bounds(adapter: Adapter, dim: int) -> tuple[Floats, Floats]:
    """Lowest and highest states `[D]`; infinite where the environment gives no limit."""
    low, high = (np.full(dim, bound, dtype=np.float32) for bound in (-np.inf, np.inf))
    parts = space_leaves(adapter.env.observation_space)
    start = 0
    for field in adapter.fields if isinstance(adapter, DictAdapter) else [FieldSpec("", dim)]:
        inner, stop = parts.get(field.name), start + field.size
        if isinstance(inner, spaces.Box) and inner.low.size == field.size:
            low[start:stop], high[start:stop] = inner.low.reshape(-1), inner.high.reshape(-1)
        start = stop
    return low, high
