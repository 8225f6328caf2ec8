"""Queries that people ask: one group, a few, an object, objects of a kind, the full state."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.objects import families
from goalsets.relabel.queries.base import (
    QUERY_DISTRIBUTIONS,
    SCHEMES,
    Masks,
    Scheme,
    Weights,
    random_subsets,
)


@QUERY_DISTRIBUTIONS.register("direct")
@dataclass(frozen=True)
class Direct:
    """Queries like those that people ask. They are few, so that each is drawn often enough.

    It needs the layout's groups and does not know the task. Groups of one kind count once, for any
    number of objects. `goalsets.core.objects` defines objects; the groups without a kind, such as
    those of the robot, together count as one object.
    """

    p_single: float = 0.40
    """One group: first a kind is drawn, then one of its groups."""
    p_few: float = 0.15
    """Two or three groups, any of them."""
    p_object: float = 0.25
    """One to three groups of one object."""
    p_kind: float = 0.10
    """Some of the groups of one kind; if no kind has two groups, a query about an object."""
    p_full: float = 0.10
    """The full state."""

    def __post_init__(self) -> None:
        """Check the shares."""
        shares = self._shares
        if min(shares) < 0 or not 0 < sum(shares) < float("inf"):
            raise GoalsetsError(f"shares must be 0 or more and not sum to 0, got {shares}.")

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw the sort of each query, then its groups."""
        parts = _parts(layout)
        sort = np.searchsorted(self._cumulative[:-1], rng.random(batch_size), side="right")
        chosen = np.zeros((batch_size, len(layout.groups) + 1), dtype=np.bool_)
        # For speed, draw a few groups of a set for all rows together.
        rows = np.flatnonzero(sort < _KIND if parts.alike else sort < _FULL)
        which = np.minimum(sort[rows], _OBJECT)
        sets = parts.first[which] + (rng.random(len(rows)) * parts.number[which]).astype(np.int64)
        size = parts.size[sets]
        low, high = np.minimum(_FEWEST[which], size), np.minimum(_MOST[which], size)
        count = low + (rng.random(len(rows)) * (high - low + 1)).astype(np.int64)
        members = parts.begin[sets, None] + _three_of(size, rng)
        for place in range(_MOST.max()):
            asked = count > place
            chosen[rows[asked], parts.members[members[asked, place]]] = True
        for row, alike in self._alike(np.flatnonzero(sort == _KIND), parts, rng):
            chosen[row[:, None], alike] = random_subsets(
                rng.integers(1, len(alike) + 1, len(row)), len(alike), rng
            )
        masks = chosen.take(parts.owner, 1)
        masks[sort == _FULL] = True
        return masks

    @staticmethod
    def _alike(
        rows: NDArray[np.int64], parts: _Parts, rng: np.random.Generator
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Rows with queries about groups of one kind, for each kind."""
        if parts.alike:
            which = rng.integers(0, len(parts.alike), len(rows))
            for index, members in enumerate(parts.alike):
                yield rows[which == index], members

    def marginals(self, layout: StateLayout) -> Weights:
        """Sum over the sorts of queries, and over their groups."""
        parts = _parts(layout)
        groups = np.zeros(len(layout.groups) + 1)
        shares = np.diff(self._cumulative, prepend=0.0)
        if not parts.alike:
            shares[_OBJECT] += shares[_KIND]
        for sort in range(_KIND):
            for number in range(parts.first[sort], parts.first[sort] + parts.number[sort]):
                size, begin = parts.size[number], parts.begin[number]
                mean = (min(_FEWEST[sort], size) + min(_MOST[sort], size)) / 2
                share = shares[sort] / parts.number[sort] * mean / size
                groups[parts.members[begin : begin + size]] += share
        for members in parts.alike:
            size = len(members)
            groups[members] += shares[_KIND] / len(parts.alike) * (size + 1) / 2 / size
        return groups[parts.owner] + shares[_FULL]

    @property
    def _shares(self) -> list[float]:
        return [self.p_single, self.p_few, self.p_object, self.p_kind, self.p_full]

    @functools.cached_property
    def _cumulative(self) -> Weights:
        return np.cumsum(self._shares) / sum(self._shares)


_SINGLE, _FEW, _OBJECT, _KIND, _FULL = range(5)
"""The sorts of queries, in the order of their shares."""
_FEWEST, _MOST = np.array([1, 2, 1]), np.array([1, 3, 3])
"""The smallest and largest number of groups of the first three sorts."""


def _three_of(sizes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Three different numbers below each size, in random order: `[n, 3]`.

    For a size below 3, some numbers repeat.
    """
    left = np.maximum(sizes[:, None] - np.arange(3), 1)
    drawn: NDArray[np.int64] = (rng.random((len(sizes), 3)) * left).astype(np.int64)
    # Each number is a position among those that are not taken yet: convert it.
    drawn[:, 1] += drawn[:, 1] >= drawn[:, 0]
    taken = np.sort(drawn[:, :2], axis=1)
    drawn[:, 2] += drawn[:, 2] >= taken[:, 0]
    drawn[:, 2] += drawn[:, 2] >= taken[:, 1]
    return np.minimum(drawn, sizes[:, None] - 1)


@dataclass(frozen=True)
class _Parts:
    """A layout's groups by number, in sets from which queries are drawn."""

    owner: NDArray[np.int64]
    """`[D]`: the group of each coordinate; the number of groups for coordinates without one."""
    members: NDArray[np.int64]
    """The groups of all sets, one set after the other."""
    begin: NDArray[np.int64]
    """The position in `members` at which each set begins."""
    size: NDArray[np.int64]
    """The number of groups in each set."""
    first: NDArray[np.int64]
    """The first set of each of the first three sorts of queries."""
    number: NDArray[np.int64]
    """The number of sets of each of these sorts."""
    alike: list[NDArray[np.int64]]
    """The groups of each kind that has two or more."""


@functools.lru_cache(maxsize=16)
def _parts(layout: StateLayout) -> _Parts:
    if not layout.groups:
        raise GoalsetsError(
            f"direct queries draw groups, but layout {layout.name!r} has none: "
            "add groups, or use blockwise queries."
        )
    number = {group.name: index for index, group in enumerate(layout.groups)}
    kinds: dict[str, list[int]] = {}
    for group in layout.groups:
        kinds.setdefault(group.kind or group.name, []).append(number[group.name])
    objects = [[number[g.name] for g in groups] for f in families(layout) for groups in f.objects]
    rest = [number[group.name] for group in layout.groups if not group.kind]
    sorts = [list(kinds.values()), [list(number.values())], [*objects, rest] if rest else objects]
    sets = [members for sort in sorts for members in sort]
    sizes, counts = np.array([len(s) for s in sets]), np.array([len(sort) for sort in sorts])
    owners = [len(number) if owner is None else number[owner.name] for owner in layout.owners]
    return _Parts(
        np.array(owners),
        np.concatenate([np.array(members) for members in sets]),
        np.cumsum(sizes) - sizes,
        sizes,
        np.cumsum(counts) - counts,
        counts,
        [np.array(members) for members in kinds.values() if len(members) > 1],
    )


SCHEMES.add("gs-direct", Scheme("direct", direct=True))
