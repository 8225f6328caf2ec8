"""Random coordinates: a random number of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalsets.core import StateLayout
from goalsets.relabel.queries.base import (
    QUERY_DISTRIBUTIONS,
    SCHEMES,
    Masks,
    Scheme,
    Weights,
    random_subsets,
)


@QUERY_DISTRIBUTIONS.register("uniform")
@dataclass(frozen=True)
class Uniform:
    """Random coordinates; their number is uniform in 1..D."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw the number of active coordinates, then which."""
        counts = rng.integers(1, layout.dim + 1, batch_size)
        return random_subsets(counts, layout.dim, rng)

    def marginals(self, layout: StateLayout) -> Weights:
        """By symmetry the mean share of active coordinates, (D + 1) / 2D."""
        return np.full(layout.dim, (layout.dim + 1) / (2 * layout.dim))


SCHEMES.add("gs-uniform", Scheme("uniform"))
