"""Queries about whole groups of the layout."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalsets.core import GoalsetsError, StateLayout
from goalsets.relabel.queries.base import (
    QUERY_DISTRIBUTIONS,
    SCHEMES,
    Masks,
    Scheme,
    Weights,
    random_subsets,
)


@QUERY_DISTRIBUTIONS.register("semantic")
@dataclass(frozen=True)
class Semantic:
    """Whole groups of the layout: a number K is drawn, then K groups at random.

    K is drawn from P(K = k) ∝ 1/k with probability `p_sparse`, and uniformly otherwise. The first
    gives the short queries that people ask; the second also gives long conjunctions.
    """

    p_sparse: float = 0.6
    """Probability of drawing K from the distribution that prefers few groups."""

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
        """The mean share of active groups; 0 for coordinates without a group."""
        weights = self._count_weights(layout)
        share = float(weights @ np.arange(1, len(weights) + 1)) / len(weights)
        covered = np.array([owner is not None for owner in layout.owners])
        return share * covered.astype(np.float64)

    def _count_weights(self, layout: StateLayout) -> Weights:
        number = len(layout.groups)
        if number == 0:
            raise GoalsetsError(
                f"semantic queries draw groups, but layout {layout.name!r} has none: "
                "add groups, or use blockwise queries."
            )
        sparse = 1.0 / np.arange(1, number + 1)
        return self.p_sparse * sparse / sparse.sum() + (1 - self.p_sparse) / number


SCHEMES.add("gs-semantic", Scheme("semantic"))
