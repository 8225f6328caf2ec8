"""Full-state queries: the usual hindsight relabeling, without goal sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalsets.core import StateLayout
from goalsets.relabel.queries.base import QUERY_DISTRIBUTIONS, SCHEMES, Masks, Scheme, Weights


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


SCHEMES.add("her-full", Scheme("full", conditioning="full"))
