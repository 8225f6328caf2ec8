"""Layouts and episodes for tests of arrivals, and arrivals as they are defined: row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from goalsets import Episode, GoalSet, Group, Query, StateLayout
from goalsets.core.metrics import METRICS
from goalsets.data.trajectories import Trajectories
from goalsets.relabel.units import Rule

GRID = 0.125
"""Values and tolerances are multiples of this, so that distances are often just the tolerance."""


def some_layout(rng: np.random.Generator, *, tolerances: bool = False) -> StateLayout:
    """Groups of all metrics, some with tolerances (or all), some scattered; loose coordinates."""
    metrics = [*rng.permutation(METRICS), *rng.choice(METRICS, 2)]
    widths = [{"angle": 2, "quaternion": 4}.get(m, int(rng.integers(1, 4))) for m in metrics]
    widths[0] = widths[0] if metrics[0] in ("angle", "quaternion") else 9
    dim = sum(widths) + int(rng.integers(0, 3))
    places = np.arange(dim) if rng.random() < 0.5 else rng.permutation(dim)
    groups, start = [], 0
    for number, (metric, width) in enumerate(zip(metrics, widths, strict=True)):
        indices = [int(i) for i in places[start : start + width]]
        known = metric != "exact" and (tolerances or rng.random() < 0.6)
        tolerance = GRID * int(rng.integers(0, 5)) if known else None
        groups.append(Group(f"g{number}", indices, metric, tolerance=tolerance))
        start += width
    return StateLayout(dim, groups, name="some")


def some_trajectories(
    rng: np.random.Generator, dim: int, lengths: Sequence[int] | None = None
) -> Trajectories:
    """Episodes of uneven length, some of one row, in which each coordinate often rests."""
    if lengths is None:
        lengths = [1, *(int(n) for n in rng.integers(1, 25, 3)), 1]
    episodes: list[Episode] = []
    for length in lengths:
        moves = rng.integers(-1, 2, (length, dim)) * (rng.random((length, dim)) < rng.random(dim))
        states = GRID * (np.cumsum(moves, axis=0) + rng.integers(-2, 3, dim))
        if rng.random() < 0.5:  # quaternions come with either sign
            states *= rng.choice([-1.0, 1.0], (length, 1))
        actions = np.zeros((length - 1, 2), np.float32)
        episodes.append(Episode(states.astype(np.float32), actions))
    return Trajectories.from_episodes(episodes)


def some_rule(rng: np.random.Generator, layout: StateLayout) -> Rule:
    std = rng.choice([0.5, 1.0, 2.0], layout.dim).astype(np.float32)
    return Rule(layout, std, float(rng.choice([0.02, 0.0625, 0.25])))


def some_masks(rng: np.random.Generator, layout: StateLayout, count: int) -> np.ndarray:
    """Whole groups in some rows, anything in others; never empty."""
    masks = rng.random((count, layout.dim)) < rng.random((count, 1))
    for mask in masks[::2]:
        for group in layout.groups:
            mask[list(group.indices)] = mask[group.indices[0]]
    masks[~masks.any(axis=1)] = True
    return masks


def contains(rule: Rule, reference: np.ndarray, mask: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Which states are in a goal set, as `GoalSet` says, unit by unit."""
    layout, plain = rule.layout, StateLayout(rule.layout.dim, [])
    found = np.ones(len(states), bool)
    for index, owner in enumerate(layout.owners):
        whole = owner is not None and mask[list(owner.indices)].all()
        if mask[index] and not whole:
            exact = owner is not None and owner.metric == "exact"
            allowed = 0.0 if exact else math.sqrt(rule.epsilon) * float(rule.std[index])
            query = Query(plain, np.arange(layout.dim) == index, {f"[{index}]": allowed})
            found &= GoalSet(reference, query).contains(states)
    for group in layout.groups:
        if mask[list(group.indices)].all():
            query = Query(layout, np.isin(np.arange(layout.dim), group.indices))
            if group.tolerance is not None:
                found &= GoalSet(reference, query).contains(states)
            else:
                judge = GoalSet(reference / rule.std, query, epsilon=rule.epsilon)
                found &= judge.contains(states / rule.std)
    return found


def arrival(rule: Rule, data: Trajectories, row: int, mask: np.ndarray) -> int:
    """The first row since which the goal set of a row has held."""
    start = int(data.offsets[np.searchsorted(data.offsets, row, side="right") - 1])
    states = data.observations
    outside = ~contains(rule, states[row], mask, states[start : row + 1])
    return start + int(np.flatnonzero(outside)[-1]) + 1 if outside.any() else start
