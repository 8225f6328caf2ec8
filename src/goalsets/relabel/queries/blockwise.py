"""Spans of neighbouring coordinates: the paper's default."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalsets.core import StateLayout
from goalsets.relabel.queries.base import QUERY_DISTRIBUTIONS, SCHEMES, Masks, Scheme, Weights
from goalsets.relabel.queries.uniform import Uniform


@QUERY_DISTRIBUTIONS.register("blockwise")
@dataclass(frozen=True)
class Blockwise:
    """The paper's default (appendix, "Blockwise query sampling"); it needs no groups.

    It draws full-state queries, random coordinates, or the union of a few contiguous spans.
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
        # Small unsigned integers need little cache. They also turn "start <= i < start + length"
        # into one comparison: below the start, the difference wraps around to a large number.
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


SCHEMES.add("gs-blockwise", Scheme("blockwise"))
