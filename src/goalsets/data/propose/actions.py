"""Recognises components of actions by their values: switches, choices, angles, rotations.

A policy returns continuous numbers, and may average the actions of the data. For some components an
average is not a valid value. Notes tell people about such components, and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.data.propose.offers import Found
from goalsets.data.propose.values import MIN_ROWS, Sample, find
from goalsets.data.trajectories import Trajectories

_ROWS = 50_000
"""About how many states are read."""
_JUMP = 0.9
"""An angle that wraps around jumps by more than this share of a full turn."""
_TURNS: Mapping[str, float] = {"degrees": 360.0, "radians": 2 * math.pi}
_MEANS: Mapping[Found, str] = {
    "angle": "an angle as (cos, sin)? Convert the policy's pair to an angle with atan2",
    "quaternion": "a unit quaternion? Scale the policy's output to length 1",
    "one-hot": "one-hot? Take the largest component of the policy's output",
    "discrete": "a choice? Round the policy's output",
}


def recognise_actions(data: Trajectories, switches: Collection[int] = ()) -> tuple[str, ...]:
    """A note for each component, or several together, that may not be a continuous number.

    Args:
        data: The data.
        switches: Components that were declared to be switches; they need no note.
    """
    last = int(np.searchsorted(data.offsets, _ROWS))
    some = data.slice(0, max(1, min(last, data.num_episodes)))
    episodes = [np.asarray(episode.actions) for episode in some]
    actions = np.concatenate(episodes)
    together: dict[int, str] = {}
    told: set[int] = set()
    for kind, window, evidence in find(Sample(actions), 0, actions.shape[1]):
        if len(window) > 1:
            name = f"actions {window.start} to {window.stop - 1}"
            together[window.start] = f"{name}: {_MEANS[kind]} ({evidence})."
            told.update(window)
    alone = {
        component: text
        for component in range(actions.shape[1])
        if component not in told
        and component not in switches
        and (text := _alone(component, actions[:, component], [e[:, component] for e in episodes]))
    }
    return tuple(text for _, text in sorted((together | alone).items()))


def _alone(component: int, values: NDArray[Any], episodes: Sequence[NDArray[Any]]) -> str:
    """A note on a single component; empty for a continuous number."""
    values = values[np.isfinite(values)]
    if len(values) < MIN_ROWS:
        return ""
    different = np.unique(values)
    if len(different) == 1:
        return f"action {component} is always {different[0]:.4g}."
    if len(different) == 2:
        low, high = different
        return (
            f"action {component} has two values, {low:.4g} and {high:.4g}: a switch? A policy "
            f"returns numbers between them; --action-switches {component} makes policies answer "
            f"{low:.4g} or {high:.4g}."
        )
    for kind, _, evidence in find(Sample(values[:, None]), 0, 1):
        return f"action {component}: {_MEANS[kind]} ({evidence})."
    return _turn(component, values, episodes)


def _turn(component: int, values: NDArray[Any], episodes: Sequence[NDArray[Any]]) -> str:
    """A note on a component that jumps between the ends of a full turn, as an angle does."""
    steps = np.concatenate([np.diff(episode) for episode in episodes])
    for unit, turn in _TURNS.items():
        jumps = int((np.abs(steps) > _JUMP * turn).sum())
        if jumps and np.ptp(values) <= 1.01 * turn:
            return (
                f"action {component} jumps by nearly {turn:.4g}, {jumps} times: an angle in "
                f"{unit}? An average of both ends points the wrong way: log its cosine and "
                "sine, or the difference to the present angle."
            )
    return ""
