"""Finds suspicious things in a data set, which people should check before training."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.data.bounds import Bounds
from goalsets.data.trajectories import Rows, Trajectories

_LISTED = 5
"""How many places are named; the rest is counted."""


def find_suspects(
    trajectories: Trajectories, episodes: Rows, layout: StateLayout, bounds: Bounds
) -> tuple[str, ...]:
    """Return a sentence for each suspicious thing in some episodes."""
    actions = [trajectories.episode(int(e)).actions for e in episodes]
    states = [trajectories.episode(int(e)).observations for e in episodes]
    found = [
        _not_finite("states", states, episodes),
        _not_finite("actions", actions, episodes),
        _constant(np.concatenate(states), layout),
        _out_of_bounds(np.concatenate(actions), bounds),
        _duplicated(states, actions, episodes),
        _short(trajectories.lengths),
        _bad_units(np.concatenate(states), layout),
    ]
    return tuple(text for text in found if text)


def _not_finite(what: str, parts: list[NDArray[np.float32]], episodes: Rows) -> str:
    counts = [int((~np.isfinite(part)).sum()) for part in parts]
    bad = [int(e) for e, count in zip(episodes, counts, strict=True) if count]
    if not bad:
        return ""
    return f"{sum(counts)} values of {what} are not finite, in episodes {_list(bad)}."


def _constant(states: NDArray[np.float32], layout: StateLayout) -> str:
    constant = np.flatnonzero((states == states[0]).all(axis=0))
    if len(constant) == 0:
        return ""
    return f"{_list([layout.describe(int(i)) for i in constant])} never change."


def _out_of_bounds(actions: NDArray[np.float32], bounds: Bounds) -> str:
    """Actions outside their bounds: a policy cannot take them."""
    room = 1e-6 * (bounds.high - bounds.low)
    outside = (actions < bounds.low - room) | (actions > bounds.high + room)
    outside &= np.isfinite(actions)
    columns = [int(i) for i in np.flatnonzero(outside.any(axis=0))]
    if not columns:
        return ""
    values, share = actions[outside], float(outside.any(axis=1).mean())
    return (
        f"{share:.2%} of actions leave their bounds, in components {_list(columns)}: they reach "
        f"from {values.min():.4g} to {values.max():.4g}."
    )


def _duplicated(
    states: list[NDArray[np.float32]], actions: list[NDArray[np.float32]], episodes: Rows
) -> str:
    first: dict[bytes, int] = {}
    pairs: list[str] = []
    for episode, observed, acted in zip(episodes, states, actions, strict=True):
        state = hashlib.blake2b(np.ascontiguousarray(observed).data, digest_size=16)
        state.update(np.ascontiguousarray(acted).data)
        before = first.setdefault(state.digest(), int(episode))
        if before != int(episode):
            pairs.append(f"{int(episode)} = {before}")
    return f"{len(pairs)} episodes are copies of others: {_list(pairs)}." if pairs else ""


def _short(lengths: Rows) -> str:
    short = [int(e) for e in np.flatnonzero(lengths < max(2, np.median(lengths) / 10))]
    if not short:
        return ""
    return f"{len(short)} episodes are far shorter than the others: {_list(short)}."


def _bad_units(states: NDArray[np.float32], layout: StateLayout) -> str:
    """Groups that are angles or quaternions by the layout, but whose norm is not 1."""
    wrong: list[str] = []
    for group in layout.groups:
        if group.metric in ("angle", "quaternion"):
            norms = np.linalg.norm(states[:, list(group.indices)], axis=1)
            share = float((np.abs(norms - 1) > 0.01).mean())
            if share > 0.001:
                wrong.append(f"{group.name} ({share:.1%} of states)")
    return f"the norm is not 1 in {_list(wrong)}: is the metric right?" if wrong else ""


def _list(things: list[str] | list[int]) -> str:
    shown = ", ".join(str(thing) for thing in things[:_LISTED])
    rest = len(things) - _LISTED
    return f"{shown} and {rest} more" if rest > 0 else shown
