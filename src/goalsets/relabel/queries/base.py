"""The protocol of query distributions, and the schemes that train with them.

A distribution draws boolean masks `[B, D]` from an explicit generator; no row is empty. It also
declares its marginals: the probability of each coordinate to be active. To add one, write a frozen
dataclass with `sample` and `marginals` in a file of this package or of a plugin. Register it under
its name, and add the scheme that trains with it. The contract tests then find it.

Queries are not cached: at D = 28, drawing one takes a fraction of a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Registry, StateLayout

Masks = NDArray[np.bool_]
Weights = NDArray[np.float64]


class QueryDistribution(Protocol):
    """The protocol of query distributions."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw `bool[B, D]` with at least one active coordinate in each row."""
        ...

    def marginals(self, layout: StateLayout) -> Weights:
        """Return the probability `[D]` with which each coordinate is active."""
        ...


@dataclass(frozen=True)
class Scheme:
    """A relabeling scheme: a query distribution, and a conditioner for the networks."""

    queries: str
    """A name in `QUERY_DISTRIBUTIONS`."""
    conditioning: str = "goal-set"
    """A name in `goalsets.condition.CONDITIONERS`."""
    direct: bool = False
    """Whether presets train it with direct hindsight: relational inputs, labels by arrival, and
    direct goals. Each of these can also be combined with any scheme."""


QUERY_DISTRIBUTIONS: Registry[Callable[[], QueryDistribution]] = Registry("query distribution")
SCHEMES: Registry[Scheme] = Registry("scheme")


def random_subsets(counts: NDArray[np.integer], size: int, rng: np.random.Generator) -> Masks:
    """Draw for each count a uniformly random subset of that many of `size` elements.

    Selection sampling (Knuth, TAOCP 2, Algorithm S): the j-th element is taken with probability
    (still wanted) / (still to come). It is exact, and much faster than sorting random keys.
    """
    wanted = counts.astype(np.float32)
    masks = np.empty((size, len(counts)), dtype=np.bool_)
    for column in range(size):
        to_come = size - column
        draws = rng.random(len(counts), dtype=np.float32)
        np.less(draws * np.float32(to_come), wanted, out=masks[column])
        wanted -= masks[column]
    return np.ascontiguousarray(np.swapaxes(masks, 0, 1))
