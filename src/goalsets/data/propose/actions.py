"""What the components of actions are by their values: switches, choices, angles, rotations.

A policy gives numbers, and between the actions that the data took where it took one or another. For
some components that is none of the values that were meant: people are told, with what to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.data.propose.offers import Found
from goalsets.data.propose.values import MIN_ROWS, Sample, find
from goalsets.data.trajectories import Trajectories

_ROWS = 50_000
"""States of the episodes that are looked at, about."""
_JUMP = 0.9
"""Of a full turn: an angle that passes its end jumps further than that."""
_TURNS: Mapping[str, float] = {"degrees": 360.0, "radians": 2 * math.pi}
_MEANS: Mapping[Found, str] = {
    "angle": "an angle as (cos, sin)? Take the angle of the pair that a policy gives, by atan2",
    "quaternion": "a unit quaternion? Bring what a policy gives to length 1",
    "one-hot": "a choice of one? Take the largest that a policy gives",
    "discrete": "a choice? Round what a policy gives",
}


def recognise_actions(data: Trajectories) -> tuple[str, ...]:
    """Say of each component, or of several together, what it may be other than a number."""
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
        and (text := _alone(component, actions[:, component], [e[:, component] for e in episodes]))
    }
    return tuple(text for _, text in sorted((together | alone).items()))


def _alone(component: int, values: NDArray[Any], episodes: Sequence[NDArray[Any]]) -> str:
    """What a component by itself may be; empty for a number like any other."""
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
            f"gives numbers between them: take {low:.4g} below {(low + high) / 2:.4g} and "
            f"{high:.4g} above."
        )
    for kind, _, evidence in find(Sample(values[:, None]), 0, 1):
        return f"action {component}: {_MEANS[kind]} ({evidence})."
    return _turn(component, values, episodes)


def _turn(component: int, values: NDArray[Any], episodes: Sequence[NDArray[Any]]) -> str:
    """Whether a component jumps from one end of a full turn to the other, as an angle does."""
    steps = np.concatenate([np.diff(episode) for episode in episodes])
    for unit, turn in _TURNS.items():
        jumps = int((np.abs(steps) > _JUMP * turn).sum())
        if jumps and np.ptp(values) <= 1.01 * turn:
            return (
                f"action {component} jumps by nearly {turn:.4g}, {jumps} times: an angle in "
                f"{unit}? Between its ends a policy points the wrong way: log its cosine and "
                "sine, or let it count on beyond a turn."
            )
    return ""
