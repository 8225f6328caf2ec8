"""Roads: how a part that never rests gets from place to place.

Places are states of the data that lie far from each other and near to everything else. A road leads
from one to another where trajectories passed from the one to the other within a few steps. Its
price is what the quicker of them took.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree

from goalsets.plan.parts import Floats, Part, Rows

_PLACES = 400
"""Places of a map."""
_CANDIDATES = 20_000
"""States that they are chosen from."""
_FAR = 1.5
"""A state is at a place that is nearest, if it is not farther than this times what is usual."""


@dataclass(frozen=True, eq=False)
class Roads:
    """A road map of one part."""

    part: Part
    places: Floats
    """`[N, D]`, states of the data."""
    edges: NDArray[np.int64]
    """`[M, 2]`, from which place to which."""
    steps: Floats
    """`[M]`, what an edge takes."""

    @functools.cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.part.embed(self.places))

    @functools.cached_property
    def _graph(self) -> csr_matrix:
        count = len(self.places)
        return csr_matrix((self.steps, (self.edges[:, 0], self.edges[:, 1])), (count, count))

    def nearest(self, states: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """How far the nearest place of states `[B, D]` is, in tolerances, and which it is."""
        far, places = self._tree.query(self.part.embed(states))
        return np.asarray(far), np.asarray(places)

    def to(self, goal: Floats) -> Way:
        """All ways that lead to a goal `[D]`."""
        far, place = self.nearest(goal[None])
        steps, after = dijkstra(self._graph.T, indices=int(place[0]), return_predecessors=True)
        return Way(self, goal, float(far[0]), steps, after)


@dataclass(frozen=True, eq=False)
class Way:
    """The shortest ways from every place to one goal."""

    roads: Roads
    goal: Floats
    """`[D]`."""
    far: float
    """How far the goal is from its place, in tolerances."""
    steps: NDArray[np.float64]
    """`[N]`, what is left from each place; infinite where no way is known."""
    after: NDArray[np.int32]
    """`[N]`, the next place; negative at the last one."""

    def left(self, state: Floats) -> float:
        """Steps that are left from a state `[D]`."""
        _, place = self.roads.nearest(state[None])
        return float(self.steps[place[0]])

    def detour(self, state: Floats, reach: float, rng: np.random.Generator) -> Floats:
        """Any state `[D]` that roads lead to from here within `reach` steps."""
        _, nearest = self.roads.nearest(state[None])
        edges = self.roads.edges[:, 0] == int(nearest[0])
        near = np.flatnonzero(edges & (self.roads.steps <= reach))
        if not len(near):
            return self.goal
        return self.roads.places[self.roads.edges[rng.choice(near), 1]]

    def ahead(self, state: Floats, reach: float) -> Floats:
        """The state `[D]` to ask for: the farthest on the way that takes at most `reach` steps."""
        _, nearest = self.roads.nearest(state[None])
        place = int(nearest[0])
        left = self.steps[place]
        if not np.isfinite(left) or left <= reach:
            return self.goal
        while left - self.steps[place] < reach:
            following = int(self.after[place])
            if following < 0:
                return self.goal
            place = following
        return self.roads.places[place]


def build_roads(
    part: Part, observations: Floats, offsets: Rows, reach: int, seed: int = 0
) -> Roads:
    """Draw a road map from data `[R, D]`.

    Args:
        part: What moves.
        observations: `[R, D]`.
        offsets: `[E + 1]`, where episodes begin.
        reach: Steps within which one place must be reached from another.
        seed: Decides which states become places.
    """
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(observations), min(_CANDIDATES, len(observations)), replace=False)
    points = part.embed(observations[rows])
    places = observations[rows[_cover(points, _PLACES, rng)]]
    tree = KDTree(part.embed(places))
    apart, nearest = tree.query(part.embed(observations))
    at = np.where(apart <= _FAR * np.quantile(apart, 0.9), nearest, -1)
    return Roads(part, places, *_passages(at, offsets, reach, len(places)))


def _passages(
    at: NDArray[np.int64], offsets: Rows, reach: int, count: int
) -> tuple[NDArray[np.int64], Floats]:
    """Edges between places that trajectories passed, and what they take."""
    episode = np.searchsorted(offsets, np.arange(len(at)), side="right")
    found: list[NDArray[np.int64]] = []
    taken: list[NDArray[np.int64]] = []
    for ahead in _offsets(reach):
        here, there = at[:-ahead], at[ahead:]
        passed = (episode[:-ahead] == episode[ahead:]) & (here >= 0) & (there >= 0)
        passed &= here != there
        found.append(here[passed] * count + there[passed])
        taken.append(np.full(int(passed.sum()), ahead))
    keys, steps = np.concatenate(found), np.concatenate(taken)
    order = np.lexsort((steps, keys))
    keys, steps = keys[order], steps[order]
    edges, first, number = np.unique(keys, return_index=True, return_counts=True)
    # A quarter from below: trajectories that dawdled say little about how far it is.
    price = steps[first + number // 4].astype(np.float32)
    return np.stack([edges // count, edges % count], axis=1), price


def _offsets(reach: int) -> Sequence[int]:
    """Numbers of steps to look at, up to `reach`."""
    return sorted({int(n) for n in np.unique(np.linspace(1, reach, min(reach, 25)).round())})


def _cover(points: Floats, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of points `[N, m]` that are far from each other: farthest-point sampling."""
    chosen = np.empty(min(count, len(points)), np.int64)
    row, apart = int(rng.integers(len(points))), np.full(len(points), np.inf, np.float32)
    for place in range(len(chosen)):
        chosen[place] = row
        apart = np.minimum(apart, ((points - points[row]) ** 2).sum(-1))
        row = int(apart.argmax())
    return chosen
