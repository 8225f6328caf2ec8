"""Random numbers for many worlds at once, a stream for each world.

A batch that draws from one generator makes every world depend on how many others there are. With
a stream for each row, a world behaves in a batch of thousands as it does alone. All randomness of
the tabletop is uniform numbers from `random`, so that reading ahead does not change their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.envs.tabletop.layout import TabletopError


class Uniforms(Protocol):
    """A source of uniform numbers in [0, 1): a numpy generator, or `Streams`."""

    def random(self, size: tuple[int, int], /) -> NDArray[np.float64]:
        """Return numbers of shape `size`."""
        ...


class Streams:
    """One generator for each row of a batch.

    Args:
        generators: Row i draws from the i-th one; the row's numbers are those that
            `generators[i].random` gives one after the other.
        read_ahead: How many numbers are read at a time. It changes the speed, not the numbers.
    """

    def __init__(self, generators: Sequence[np.random.Generator], read_ahead: int = 256) -> None:
        """Read nothing yet."""
        self._generators = tuple(generators)
        self._read_ahead = read_ahead
        self._buffer = np.empty((len(self._generators), 0))
        self._used = 0

    @classmethod
    def from_seeds(cls, seeds: Sequence[int | Sequence[int]]) -> Streams:
        """Seed each row as Gymnasium seeds an environment."""
        return cls([np.random.default_rng(seed) for seed in seeds])

    def random(self, size: tuple[int, int], /) -> NDArray[np.float64]:
        """Return the next `size[1]` numbers of every row: `float64[size]`."""
        rows, count = size
        if rows != len(self._generators):
            raise TabletopError(f"expected {len(self._generators)} rows, one a stream, got {rows}.")
        if self._used + count > self._buffer.shape[1]:
            self._refill(count)
        taken = self._buffer[:, self._used : self._used + count]
        self._used += count
        return taken

    def _refill(self, count: int) -> None:
        fresh = np.empty((len(self._generators), max(self._read_ahead, count)))
        for row, generator in zip(fresh, self._generators, strict=True):
            generator.random(out=row)
        # What is left over comes first: no number is skipped.
        self._buffer = np.concatenate([self._buffer[:, self._used :], fresh], axis=1)
        self._used = 0
