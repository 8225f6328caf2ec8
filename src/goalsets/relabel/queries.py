"""Query distributions: which variables a relabeled goal is about.

A distribution draws boolean masks `[B, D]`, never an empty row, from an explicit generator, and
declares its marginals: the probability of each coordinate to be active. Add one by writing a frozen
dataclass with `sample` and `marginals` and registering it; the contract tests pick it up.

Everything is drawn afresh, without a cache of queries: at D = 28 a draw costs a fraction of a
microsecond, so there is nothing to save.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query, Registry, StateLayout

Masks = NDArray[np.bool_]
Weights = NDArray[np.float64]


class QueryDistribution(Protocol):
    """What every query distribution offers."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw `bool[B, D]` with at least one active coordinate in each row."""
        ...

    def marginals(self, layout: StateLayout) -> Weights:
        """Return the probability `[D]` with which each coordinate is active."""
        ...


QUERY_DISTRIBUTIONS: Registry[Callable[[], QueryDistribution]] = Registry("query distribution")


@QUERY_DISTRIBUTIONS.register("full")
@dataclass(frozen=True)
class Full:
    """Every coordinate, always: hindsight relabeling with full-state goals."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Return all-true masks."""
        del rng
        return np.ones((batch_size, layout.dim), dtype=np.bool_)

    def marginals(self, layout: StateLayout) -> Weights:
        """One everywhere."""
        return np.ones(layout.dim)


@QUERY_DISTRIBUTIONS.register("task")
@dataclass(frozen=True)
class Task:
    """The layout's task query, always: hindsight relabeling with one fixed projection."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Return the task's mask in every row."""
        del rng
        return np.tile(Query.parse("task", layout).mask, (batch_size, 1))

    def marginals(self, layout: StateLayout) -> Weights:
        """One where the task looks."""
        return Query.parse("task", layout).mask.astype(np.float64)


@QUERY_DISTRIBUTIONS.register("uniform")
@dataclass(frozen=True)
class Uniform:
    """A number of coordinates uniform in 1..D, then that many at random."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw the number of active coordinates, then which."""
        counts = rng.integers(1, layout.dim + 1, batch_size)
        return random_subsets(counts, layout.dim, rng)

    def marginals(self, layout: StateLayout) -> Weights:
        """By symmetry the mean share of active coordinates, (D + 1) / 2D."""
        return np.full(layout.dim, (layout.dim + 1) / (2 * layout.dim))


@QUERY_DISTRIBUTIONS.register("blockwise")
@dataclass(frozen=True)
class Blockwise:
    """The paper's default (appendix, "Blockwise query sampling"): needs no annotation.

    Full-state queries, random coordinates, or the union of a few contiguous spans.
    """

    p_full: float = 0.15
    """Probability of the full-state query."""
    p_random: float = 0.15
    """Probability of random coordinates, drawn as by `Uniform`."""
    max_spans: int = 4
    """The number of spans is uniform in 1..max_spans."""
    min_fraction: float = 0.15
    """Shortest span as a fraction of D."""
    max_fraction: float = 0.40
    """Longest span as a fraction of D."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw the kind of each row, then the row."""
        kind = rng.random(batch_size)
        masks = self._spans(layout.dim, batch_size, rng)
        masks[kind < self.p_full] = True
        random_rows = np.flatnonzero((kind >= self.p_full) & (kind < self.p_full + self.p_random))
        masks[random_rows] = Uniform().sample(layout, len(random_rows), rng)
        return masks

    def _spans(self, dim: int, batch_size: int, rng: np.random.Generator) -> Masks:
        # Small unsigned integers keep this in few cache lines, and turn "start <= i < start +
        # length" into one comparison: below the start, the difference wraps to a large number.
        kind = np.uint8 if dim <= np.iinfo(np.uint8).max else np.uint32
        coordinates = np.arange(dim, dtype=kind)
        counts = rng.integers(1, self.max_spans + 1, batch_size)
        masks = np.zeros((batch_size, dim), dtype=np.bool_)
        for drawn in range(self.max_spans):
            fraction = rng.random(batch_size, dtype=np.float32)
            fraction = self.min_fraction + (self.max_fraction - self.min_fraction) * fraction
            length = np.maximum((fraction * dim).astype(np.int32), 1)
            start = (rng.random(batch_size, dtype=np.float32) * (dim - length + 1)).astype(kind)
            length[counts <= drawn] = 0
            masks |= (coordinates - start[:, None]) < length.astype(kind)[:, None]
        return masks

    def marginals(self, layout: StateLayout) -> Weights:
        """Sum over span lengths and starts, then over the number of spans."""
        dim = layout.dim
        in_span = np.zeros(dim)
        for length, weight in self._length_weights(dim):
            starts = dim - length + 1
            positions = np.arange(dim)
            first = np.maximum(positions - length + 1, 0)
            last = np.minimum(positions, starts - 1)
            in_span += weight * (last - first + 1) / starts
        in_union = np.mean([1 - (1 - in_span) ** n for n in range(1, self.max_spans + 1)], axis=0)
        p_spans = 1 - self.p_full - self.p_random
        return self.p_full + self.p_random * Uniform().marginals(layout) + p_spans * in_union

    def _length_weights(self, dim: int) -> list[tuple[int, float]]:
        """Lengths ⌊fraction · D⌋, at least 1, with their probabilities."""
        low, high = self.min_fraction * dim, self.max_fraction * dim
        weights: dict[int, float] = {}
        for length in range(int(low), int(high) + 1):
            overlap = min(high, length + 1) - max(low, length)
            weights[max(length, 1)] = weights.get(max(length, 1), 0.0) + overlap / (high - low)
        return list(weights.items())


@QUERY_DISTRIBUTIONS.register("semantic")
@dataclass(frozen=True)
class Semantic:
    """Whole groups of the layout: a number K of groups, then K of them at random.

    K is drawn from P(K = k) ∝ 1/k with probability `p_sparse`, else uniformly. The first serves
    the short questions people ask, the second keeps long conjunctions in training.
    """

    p_sparse: float = 0.6
    """Probability of drawing K from the law that favours few groups."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw the number of groups, then which, then expand groups to coordinates."""
        weights = self._count_weights(layout)
        counts = np.searchsorted(np.cumsum(weights)[:-1], rng.random(batch_size), side="right") + 1
        chosen = random_subsets(counts, len(layout.groups), rng)
        masks = np.zeros((batch_size, layout.dim), dtype=np.bool_)
        for column, group in enumerate(layout.groups):
            masks[:, list(group.indices)] = chosen[:, column, None]
        return masks

    def marginals(self, layout: StateLayout) -> Weights:
        """The mean share of groups, where there is a group."""
        weights = self._count_weights(layout)
        share = float(weights @ np.arange(1, len(weights) + 1)) / len(weights)
        covered = np.array([owner is not None for owner in layout.owners])
        return share * covered.astype(np.float64)

    def _count_weights(self, layout: StateLayout) -> Weights:
        number = len(layout.groups)
        if number == 0:
            raise GoalsetsError(
                f"semantic queries draw groups, and layout {layout.name!r} has none: "
                "name some, or use blockwise queries."
            )
        sparse = 1.0 / np.arange(1, number + 1)
        return self.p_sparse * sparse / sparse.sum() + (1 - self.p_sparse) / number


@dataclass(frozen=True)
class Mixture:
    """Any distributions, each with a weight; weights are normalised."""

    parts: Sequence[tuple[QueryDistribution, float]]

    def __post_init__(self) -> None:
        """Check the weights."""
        weights = [weight for _, weight in self.parts]
        if not weights or min(weights) < 0 or not 0 < sum(weights) < float("inf"):
            raise GoalsetsError(
                f"a mixture needs weights of 0 or more that do not sum to 0, got {weights}."
            )

    @property
    def weights(self) -> Weights:
        """The normalised weights."""
        weights = np.array([weight for _, weight in self.parts], dtype=np.float64)
        return weights / weights.sum()

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw a part for each row, then the rows of each part together."""
        choice = np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(batch_size), side="right")
        masks = np.empty((batch_size, layout.dim), dtype=np.bool_)
        for index, (part, _) in enumerate(self.parts):
            rows = np.flatnonzero(choice == index)
            masks[rows] = part.sample(layout, len(rows), rng)
        return masks

    def marginals(self, layout: StateLayout) -> Weights:
        """The weighted mean of the parts' marginals."""
        return self.weights @ np.stack([part.marginals(layout) for part, _ in self.parts])


def random_subsets(counts: NDArray[np.integer], size: int, rng: np.random.Generator) -> Masks:
    """Draw for each count a uniformly random subset of that many of `size` things.

    Selection sampling (Knuth, TAOCP 2, Algorithm S): the j-th thing is taken with probability
    (still wanted) / (still to come). Exact, and a fraction of the price of sorting random keys.
    """
    wanted = counts.astype(np.float32)
    masks = np.empty((size, len(counts)), dtype=np.bool_)
    for column in range(size):
        to_come = size - column
        draws = rng.random(len(counts), dtype=np.float32)
        np.less(draws * np.float32(to_come), wanted, out=masks[column])
        wanted -= masks[column]
    return np.ascontiguousarray(np.swapaxes(masks, 0, 1))
