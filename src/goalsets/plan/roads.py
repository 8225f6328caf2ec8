"""Road maps: how a part that never rests gets from one place to another.

Places are states of the data that are far from each other; every state of the data is near one of
them. A road leads from one place to another if trajectories went from the first to the second
within a few steps. Its price is the number of steps of the faster ones.
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
"""The number of places of a map."""
_CANDIDATES = 20_000
"""The number of states from which places are chosen."""
_NEIGHBOURS = 5
"""The number of places near a goal that are tried."""
_MOSTLY = 0.5
"""A place is accepted if it can be reached from this share of all places."""
_FAR = 1.5
"""A state belongs to its nearest place if the distance is at most this times the 90 % quantile."""
_JUMP = 5.0
"""A part has jumped if it moves in one step by more than this times the 99 % quantile."""


@dataclass(frozen=True, eq=False)
class Roads:
    """A road map of one part."""

    part: Part
    places: Floats
    """`[N, D]`, states of the data."""
    edges: NDArray[np.int64]
    """`[M, 2]`, the places at which each road begins and ends."""
    steps: Floats
    """`[M]`, the number of steps of each road."""

    @functools.cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.part.embed(self.places))

    @functools.cached_property
    def _graph(self) -> csr_matrix:
        """The costs of edges: more than their steps, and the longer the more.

        Several short edges are better than a long one with as many steps in total. A long edge may
        turn a corner, and a policy that is asked only for its end would run into the wall.
        """
        count = len(self.places)
        costs = self.steps * (1 + self.steps / self.steps.max(initial=1.0))
        return csr_matrix((costs, (self.edges[:, 0], self.edges[:, 1])), (count, count))

    @functools.cached_property
    def _taken(self) -> dict[tuple[int, int], float]:
        """The number of steps of each edge, by its ends."""
        ends = (tuple(edge) for edge in self.edges.tolist())
        return dict(zip(ends, self.steps.tolist(), strict=True))

    def nearest(self, states: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """The distances of states `[B, D]` to the nearest places, in tolerances; and the places."""
        far, places = self._tree.query(self.part.embed(states))
        return np.asarray(far), np.asarray(places)

    def to(self, goal: Floats) -> Way:
        """The routes from all places to a goal `[D]`.

        No trajectory may lead to a place at the edge of the data. The routes then lead to another
        place near the goal.
        """
        many = min(_NEIGHBOURS, len(self.places))
        far, places = self._tree.query(self.part.embed(goal), k=many)
        near = zip(np.atleast_1d(far).tolist(), np.atleast_1d(places).tolist(), strict=True)
        found = self._ways(goal, *next(near))
        while found.known < _MOSTLY and (following := next(near, None)) is not None:
            found = max(found, self._ways(goal, *following), key=lambda way: way.known)
        return found

    def _ways(self, goal: Floats, far: float, place: int) -> Way:
        """The routes from all places to one place, which is near a goal."""
        costs, after = dijkstra(self._graph.T, indices=place, return_predecessors=True)
        steps = np.full(len(costs), np.inf)
        for here in np.argsort(costs)[: int(np.isfinite(costs).sum())].tolist():
            there = int(after[here])
            steps[here] = 0.0 if there < 0 else steps[there] + self._taken[here, there]
        return Way(self, goal, far, steps, after)


@dataclass(frozen=True, eq=False)
class Way:
    """The shortest routes from every place to one goal."""

    roads: Roads
    goal: Floats
    """`[D]`."""
    far: float
    """The distance of the goal from its place, in tolerances."""
    steps: NDArray[np.float64]
    """`[N]`, the steps that are left from each place; infinite if there is no route."""
    after: NDArray[np.int32]
    """`[N]`, the next place on the route; negative at the last one."""

    @property
    def known(self) -> float:
        """The share of all places from which there is a route."""
        return float(np.isfinite(self.steps).mean())

    @functools.cached_property
    def _known(self) -> tuple[KDTree, NDArray[np.int64]] | None:
        """The places from which there is a route, as a tree, and their numbers."""
        known = np.flatnonzero(np.isfinite(self.steps))
        embedded = self.roads.part.embed(self.roads.places[known])
        return (KDTree(embedded), known) if len(known) else None

    def _place(self, state: Floats) -> int:
        """The place of a state `[D]`: the nearest place from which there is a route.

        There is no route, for example, from the end of a corridor that no trajectory left.
        """
        place = int(self.roads.nearest(state[None])[1][0])
        if np.isfinite(self.steps[place]) or self._known is None:
            return place
        tree, known = self._known
        _, nearest = tree.query(self.roads.part.embed(state))
        return int(known[nearest])

    def left(self, state: Floats) -> float:
        """The steps that are left from a state `[D]`."""
        return float(self.steps[self._place(state)])

    def detour(self, state: Floats, reach: float, rng: np.random.Generator) -> Floats:
        """A random state `[D]` that a road from here reaches within `reach` steps."""
        _, nearest = self.roads.nearest(state[None])
        edges = self.roads.edges[:, 0] == int(nearest[0])
        near = np.flatnonzero(edges & (self.roads.steps <= reach))
        if not len(near):
            return self.goal
        return self.roads.places[self.roads.edges[rng.choice(near), 1]]

    def ahead(self, state: Floats, reach: float) -> Floats:
        """The state `[D]` to ask for: on the route, about `reach` steps ahead."""
        place = self._place(state)
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
    """Make a road map from data `[R, D]`.

    Args:
        part: The part that moves.
        observations: `[R, D]`.
        offsets: `[E + 1]`, the rows at which episodes begin.
        reach: The most steps of a road.
        seed: Decides which states become places.
    """
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(observations), min(_CANDIDATES, len(observations)), replace=False)
    points = part.embed(observations[rows])
    places = observations[rows[_cover(points, _PLACES, rng)]]
    tree = KDTree(part.embed(places))
    states = part.embed(observations)
    apart, nearest = tree.query(states)
    at = np.where(apart <= _FAR * np.quantile(apart, 0.9), nearest, -1)
    return Roads(part, places, *_passages(at, _stretches(states, offsets), reach, len(places)))


def _stretches(states: Floats, offsets: Rows) -> NDArray[np.int64]:
    """The number `[R]` of the stretch of each state. Episodes are divided where the part jumps.

    A jump, as through a teleporter, ends at a place that the robot cannot choose. So no road leads
    through a jump.
    """
    begins = np.zeros(len(states), np.bool_)
    begins[offsets[:-1]] = True
    moved = np.linalg.norm(np.diff(states, axis=0), axis=1)
    inside = ~begins[1:]
    if inside.any():
        begins[1:] |= moved > _JUMP * np.quantile(moved[inside], 0.99)
    return np.cumsum(begins, dtype=np.int64)


def _passages(
    at: NDArray[np.int64], stretch: NDArray[np.int64], reach: int, count: int
) -> tuple[NDArray[np.int64], Floats]:
    """Edges between places that trajectories connect, and their steps."""
    found: list[NDArray[np.int64]] = []
    taken: list[NDArray[np.int64]] = []
    for ahead in _offsets(reach):
        here, there = at[:-ahead], at[ahead:]
        passed = (stretch[:-ahead] == stretch[ahead:]) & (here >= 0) & (there >= 0)
        passed &= here != there
        found.append(here[passed] * count + there[passed])
        taken.append(np.full(int(passed.sum()), ahead))
    keys, steps = np.concatenate(found), np.concatenate(taken)
    order = np.lexsort((steps, keys))
    keys, steps = keys[order], steps[order]
    edges, first, number = np.unique(keys, return_index=True, return_counts=True)
    # The lower quartile: slow trajectories say little about the distance.
    price = steps[first + number // 4].astype(np.float32)
    return np.stack([edges // count, edges % count], axis=1), price


def _offsets(reach: int) -> Sequence[int]:
    """The numbers of steps that are examined, up to `reach`."""
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
