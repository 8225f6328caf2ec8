"""A mixture of query distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goalsets.core import GoalsetsError, StateLayout
from goalsets.relabel.queries.base import Masks, QueryDistribution, Weights


@dataclass(frozen=True)
class Mixture:
    """A mixture of distributions with weights; the weights are normalised."""

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
