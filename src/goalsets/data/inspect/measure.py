"""Measures each group of the layout in a data set.

The figures answer one question: *can I query this?* A group can be queried if the data moves it.
The number of different goals is the number of visited cells; a cell has the size of the group's
tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group, StateLayout
from goalsets.core.metrics import arc, distance
from goalsets.data.bounds import Bounds
from goalsets.data.inspect.suspects import find_suspects
from goalsets.data.propose.actions import recognise_actions
from goalsets.data.store import Store
from goalsets.data.tolerances import UsualTolerances
from goalsets.data.trajectories import Rows, Trajectories

MAX_STATES = 2_000_000
"""Of larger data sets, only every n-th episode is read."""
BINS = 40


@dataclass(frozen=True)
class Histogram:
    """A histogram of a coordinate, or of an angle in degrees."""

    label: str
    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class GroupView:
    """Figures for one group."""

    name: str
    indices: tuple[int, ...]
    metric: str
    unit: str
    low: float
    """The smallest value of any of its coordinates, in observation units."""
    high: float
    tolerance: float
    assumed: bool
    """Whether the tolerance is the usual one, because the layout has none."""
    step_share: float
    """The share of steps that move it by a tenth of its tolerance or more."""
    episode_share: float
    """The share of episodes in which it moves further than its tolerance from its start."""
    cells: int | None
    """The number of visited cells of the size of its tolerance; None above three dimensions."""
    coverage: float | None
    """The share of visited cells among all between its smallest and largest values."""
    histograms: tuple[Histogram, ...]


@dataclass(frozen=True)
class Inspection:
    """The result of an inspection."""

    name: str
    source: str
    fingerprint: str
    splits: dict[str, tuple[int, int]]
    """Episodes and transitions of each split."""
    lengths: Histogram
    median_length: float
    rate: float | None
    """Steps a second, if known."""
    dims: tuple[int, int]
    """Dimensions of states and actions."""
    looked_at: int
    """The number of episodes behind the figures."""
    groups: tuple[GroupView, ...]
    actions: tuple[Histogram, ...]
    bounds: Bounds
    """The bounds of actions."""
    action_notes: tuple[str, ...]
    """Notes on components of actions that may not be continuous numbers."""
    suspects: tuple[str, ...]
    notices: tuple[str, ...]
    """The notices of the import."""


def inspect_store(store: Store) -> Inspection:
    """Measure a store; of a very large one, only every n-th episode."""
    everything = store.trajectories
    chosen = _choose_episodes(everything)
    rows = np.concatenate([np.arange(a, b) for a, b in _bounds(everything, chosen)])
    states = np.asarray(everything.observations[rows])
    starts = np.cumsum([0, *(everything.lengths[chosen] + 1)])
    layout = store.layout or StateLayout(states.shape[1], [], name="")
    lengths, usual = everything.lengths, UsualTolerances.of(store.train)
    return Inspection(
        name=store.path.name,
        source=store.source,
        fingerprint=store.fingerprint,
        splits={
            "train": (store.train.num_episodes, store.train.num_transitions),
            "validation": (store.validation.num_episodes, store.validation.num_transitions),
        },
        lengths=_histogram("transitions in an episode", lengths.astype(np.float64)),
        median_length=float(np.median(lengths)),
        rate=store.rate,
        dims=(states.shape[1], everything.actions.shape[1]),
        looked_at=len(chosen),
        groups=tuple(_view(group, states, starts, usual) for group in _all_groups(layout)),
        actions=_action_histograms(everything, rows),
        bounds=store.bounds,
        action_notes=recognise_actions(store.train, store.bounds.switches),
        suspects=find_suspects(everything, chosen, layout, store.bounds),
        notices=store.notices,
    )


def _choose_episodes(trajectories: Trajectories) -> Rows:
    stride = max(1, math.ceil(trajectories.num_states / MAX_STATES))
    return np.arange(0, trajectories.num_episodes, stride)


def _bounds(trajectories: Trajectories, episodes: Rows) -> list[tuple[int, int]]:
    offsets = trajectories.offsets
    return [(int(offsets[e]), int(offsets[e + 1])) for e in episodes]


def _all_groups(layout: StateLayout) -> list[Group]:
    """The groups, and a group of its own for each coordinate without one."""
    loose = [Group.loose(i) for i, owner in enumerate(layout.owners) if owner is None]
    return [*layout.groups, *loose]


def _view(
    group: Group, states: NDArray[np.float32], starts: Rows, usual: UsualTolerances
) -> GroupView:
    """Measure one group; `starts` are the rows at which episodes begin, and the end."""
    values = states[:, list(group.indices)].astype(np.float64)
    finite = np.isfinite(values).all(axis=1)
    usable = values[finite]
    low, high = (float(usable.min()), float(usable.max())) if len(usable) else (math.nan,) * 2
    tolerance = usual.give(group)
    cells, coverage = _cover(group, usable, tolerance)
    step_share, episode_share = _movement(group, values, starts, tolerance)
    return GroupView(
        name=group.name,
        indices=tuple(group.indices),
        metric=group.metric,
        unit=group.unit if group.scale == 1 else f"{group.unit} x {group.scale:g}",
        low=low,
        high=high,
        tolerance=tolerance,
        assumed=group.tolerance is None,
        step_share=step_share,
        episode_share=episode_share,
        cells=cells,
        coverage=coverage,
        histograms=_group_histograms(group, usable),
    )


def _movement(
    group: Group, values: NDArray[np.float64], starts: Rows, tolerance: float
) -> tuple[float, float]:
    """The shares of steps and of episodes that move a group."""
    inside = np.ones(len(values), dtype=np.bool_)
    inside[starts[1:] - 1] = False  # no step begins at the last state of an episode
    rows = np.flatnonzero(inside)
    if len(rows) == 0:
        return 0.0, 0.0
    stepped = distance(group.metric, values[rows + 1], values[rows])
    lengths = np.diff(starts)
    first = np.repeat(values[starts[:-1]], lengths, axis=0)
    away = distance(group.metric, values, first) > tolerance
    left = np.add.reduceat(away, starts[:-1]) > 0
    moved = stepped > tolerance / 10
    return float(moved.mean()), float(left.mean())


def _cover(
    group: Group, values: NDArray[np.float64], tolerance: float
) -> tuple[int | None, float | None]:
    """The number of visited cells, and their share of all cells between the extremes."""
    if len(values) == 0 or group.metric == "quaternion" or values.shape[1] > 3:
        return None, None
    if group.metric == "exact" or tolerance <= 0:
        return len(np.unique(values, axis=0)), None
    if group.metric == "angle":
        values = np.arctan2(values[:, 1], values[:, 0])[:, None]
        tolerance = arc(tolerance)
    cells = np.floor((values - values.min(axis=0)) / tolerance).astype(np.int64)
    sides = cells.max(axis=0) + 1
    visited = len(np.unique(np.ravel_multi_index(tuple(cells.T), tuple(sides))))
    return visited, visited / float(np.prod(sides, dtype=np.float64))


def _group_histograms(group: Group, values: NDArray[np.float64]) -> tuple[Histogram, ...]:
    if group.metric == "angle":
        degrees = np.degrees(np.arctan2(values[:, 1], values[:, 0]))
        return (_histogram(f"{group.name}, degrees", degrees),)
    return tuple(
        _histogram(f"{group.name} [{index}]", values[:, column])
        for column, index in enumerate(group.indices)
    )


def _action_histograms(trajectories: Trajectories, rows: Rows) -> tuple[Histogram, ...]:
    last = np.isin(rows, trajectories.offsets[1:] - 1)
    actions = np.asarray(trajectories.actions[rows[~last]], dtype=np.float64)
    return tuple(_histogram(f"action [{i}]", actions[:, i]) for i in range(actions.shape[1]))


def _histogram(label: str, values: NDArray[np.float64]) -> Histogram:
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return Histogram(label, math.nan, math.nan, (0,) * BINS)
    low, high = float(values.min()), float(values.max())
    span = (low, high) if high > low else (low - 0.5, high + 0.5)
    counts, _ = np.histogram(values, bins=BINS, range=span)
    return Histogram(label, low, high, tuple(int(c) for c in counts))
