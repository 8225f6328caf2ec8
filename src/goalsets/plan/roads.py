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
_NEIGHBOURS = 5
"""Places near a goal that ways may lead to."""
_MOSTLY = 0.5
"""A place that can be reached from this share of all places is a good one."""
_FAR = 1.5
"""A state is at a place that is nearest, if it is not farther than this times what is usual."""
_JUMP = 5.0
"""A part that moves in one step by this times what 99 of 100 steps move it has jumped."""


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
        """What an edge costs: more than its steps, the more the longer it is.

        Many short edges are a better way than a long one that takes as long: between its ends a
        long one may turn a corner, and who is asked for its end alone runs against the wall.
        """
        count = len(self.places)
        costs = self.steps * (1 + self.steps / self.steps.max(initial=1.0))
        return csr_matrix((costs, (self.edges[:, 0], self.edges[:, 1])), (count, count))

    @functools.cached_property
    def _taken(self) -> dict[tuple[int, int], float]:
        """What each edge takes, by its ends."""
        ends = (tuple(edge) for edge in self.edges.tolist())
        return dict(zip(ends, self.steps.tolist(), strict=True))

    def nearest(self, states: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """How far the nearest place of states `[B, D]` is, in tolerances, and which it is."""
        far, places = self._tree.query(self.part.embed(states))
        return np.asarray(far), np.asarray(places)

    def to(self, goal: Floats) -> Way:
        """All ways that lead to a goal `[D]`.

        A place at the edge of the data may be one that no trajectory came to from elsewhere. Then
        the ways lead to the next nearest place.
        """
        many = min(_NEIGHBOURS, len(self.places))
        far, places = self._tree.query(self.part.embed(goal), k=many)
        near = zip(np.atleast_1d(far).tolist(), np.atleast_1d(places).tolist(), strict=True)
        found = self._ways(goal, *next(near))
        while found.known < _MOSTLY and (following := next(near, None)) is not None:
            found = max(found, self._ways(goal, *following), key=lambda way: way.known)
        return found

    def _ways(self, goal: Floats, far: float, place: int) -> Way:
        """All ways to a place, which is near a goal."""
        costs, after = dijkstra(self._graph.T, indices=place, return_predecessors=True)
        steps = np.full(len(costs), np.inf)
        for here in np.argsort(costs)[: int(np.isfinite(costs).sum())].tolist():
            there = int(after[here])
            steps[here] = 0.0 if there < 0 else steps[there] + self._taken[here, there]
        return Way(self, goal, far, steps, after)


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

    @property
    def known(self) -> float:
        """The share of all places from which a way is known."""
        return float(np.isfinite(self.steps).mean())

    @functools.cached_property
    def _known(self) -> tuple[KDTree, NDArray[np.int64]] | None:
        """The places from which a way is known, as a tree, and their numbers."""
        known = np.flatnonzero(np.isfinite(self.steps))
        embedded = self.roads.part.embed(self.roads.places[known])
        return (KDTree(embedded), known) if len(known) else None

    def _place(self, state: Floats) -> int:
        """The place where a state `[D]` is.

        If no way is known from the nearest place, as at the end of a corridor that no trajectory
        came back from, it is the nearest one from which a way is known.
        """
        place = int(self.roads.nearest(state[None])[1][0])
        if np.isfinite(self.steps[place]) or self._known is None:
            return place
        tree, known = self._known
        _, nearest = tree.query(self.roads.part.embed(state))
        return int(known[nearest])

    def left(self, state: Floats) -> float:
        """Steps that are left from a state `[D]`."""
        return float(self.steps[self._place(state)])

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
    states = part.embed(observations)
    apart, nearest = tree.query(states)
    at = np.where(apart <= _FAR * np.quantile(apart, 0.9), nearest, -1)
    return Roads(part, places, *_passages(at, _stretches(states, offsets), reach, len(places)))


def _stretches(states: Floats, offsets: Rows) -> NDArray[np.int64]:
    """The number `[R]` of the stretch that each state belongs to: an episode, cut where it jumps.

    Where a part jumps, as through a teleporter, the robot does not decide where it comes out. So no
    road leads through a jump.
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
    """Edges between places that trajectories passed, and what they take."""
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
