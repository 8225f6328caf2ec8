"""The questions that people ask: one group, a few, an object, objects of a kind, the full state."""

from __future__ import annotations

import functools
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

_FEW = 3
"""The most groups of a question about a few of them, or about an object."""


@QUERY_DISTRIBUTIONS.register("direct")
@dataclass(frozen=True)
class Direct:
    """Questions as people ask them, so that each single one is drawn often enough.

    It needs the layout's groups and knows nothing of the task. Where a layout says which groups are
    of one kind, a kind counts once, however many objects there are. An *object* is what a family
    of kinds speaks of (`goalsets.core.objects`); the groups without a kind, such as those of the
    robot, count as one object together.
    """

    p_single: float = 0.40
    """One group: a kind, then one of its groups."""
    p_few: float = 0.15
    """Two or three groups, any of them."""
    p_object: float = 0.25
    """One to three groups of one object."""
    p_kind: float = 0.10
    """Some of the groups of one kind; where no kind has two, a question about an object."""
    p_full: float = 0.10
    """The full state."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw what sort of question each row is, then the questions of each sort together."""
        parts = _parts(layout)
        sort = np.searchsorted(self._cumulative(parts), rng.random(batch_size), side="right")
        chosen = np.zeros((batch_size, len(layout.groups)), dtype=np.bool_)
        for number, (sets, largest) in enumerate(self._sorts(parts)):
            rows = np.flatnonzero(sort == number)
            which = rng.integers(0, len(sets), len(rows))
            for index, members in enumerate(sets):
                own = rows[which == index]
                low, high = largest if largest is not None else (1, len(members))
                counts = rng.integers(min(low, len(members)), min(high, len(members)) + 1, len(own))
                subsets = random_subsets(counts, len(members), rng)
                chosen[own[:, None], members] = subsets
        masks = chosen @ parts.coordinates
        masks[sort == len(self._sorts(parts))] = True
        return masks

    def marginals(self, layout: StateLayout) -> Weights:
        """Sum over the sorts of questions, and over what each is about."""
        parts = _parts(layout)
        groups = np.zeros(len(layout.groups))
        weights = np.diff(self._cumulative(parts), prepend=0.0)
        for weight, (sets, largest) in zip(weights, self._sorts(parts), strict=True):
            for members in sets:
                low, high = largest if largest is not None else (1, len(members))
                mean = (min(low, len(members)) + min(high, len(members))) / 2
                groups[members] += weight * mean / (len(members) * len(sets))
        return groups @ parts.coordinates + (1.0 - float(weights.sum()))

    def _sorts(self, parts: _Parts) -> list[tuple[list[NDArray[np.int64]], tuple[int, int] | None]]:
        """For each sort: sets of groups, of which one is drawn, and how many groups of it."""
        return [
            (parts.kinds, (1, 1)),
            ([np.arange(len(parts.coordinates))], (2, _FEW)),
            (parts.objects, (1, _FEW)),
            (parts.alike or parts.objects, None if parts.alike else (1, _FEW)),
        ]

    def _cumulative(self, parts: _Parts) -> Weights:
        """The upper ends of the shares of all sorts but the last, the full state."""
        del parts
        shares = [self.p_single, self.p_few, self.p_object, self.p_kind, self.p_full]
        if min(shares) < 0 or not 0 < sum(shares) < float("inf"):
            raise GoalsetsError(f"shares must be 0 or more and not sum to 0, got {shares}.")
        return np.cumsum(shares[:-1]) / sum(shares)


@dataclass(frozen=True)
class _Parts:
    """A layout's groups by number, in sets that questions are drawn from."""

    coordinates: Masks
    """`[G, D]`: which coordinates each group has."""
    kinds: list[NDArray[np.int64]]
    """The groups of each kind; a group without a kind is one by itself."""
    alike: list[NDArray[np.int64]]
    """Those of the kinds that have two groups or more."""
    objects: list[NDArray[np.int64]]
    """The groups of each object."""


@functools.lru_cache(maxsize=16)
def _parts(layout: StateLayout) -> _Parts:
    if not layout.groups:
        raise GoalsetsError(
            f"direct queries draw groups, and layout {layout.name!r} has none: "
            "name some, or use blockwise queries."
        )
    number = {group.name: index for index, group in enumerate(layout.groups)}
    coordinates = np.zeros((len(number), layout.dim), dtype=np.bool_)
    kinds: dict[str, list[int]] = {}
    for index, group in enumerate(layout.groups):
        coordinates[index, list(group.indices)] = True
        kinds.setdefault(group.kind or group.name, []).append(index)
    objects = [[number[g.name] for g in groups] for f in families(layout) for groups in f.objects]
    rest = [number[group.name] for group in layout.groups if not group.kind]
    sets = [np.array(members) for members in kinds.values()]
    return _Parts(
        coordinates,
        sets,
        [members for members in sets if len(members) > 1],
        [np.array(members) for members in [*objects, rest] if members],
    )


SCHEMES.add("gs-direct", Scheme("direct", direct=True))
