"""Random numbers for many worlds, with a stream for each world.

If a batch draws from one generator, every world depends on the number of worlds. With a stream for
each row, a world behaves the same alone and in a batch of thousands. The tabletop uses only uniform
numbers from `random`, so reading ahead does not change their order.
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
        generators: Row i gets the numbers of `generators[i].random`, in their order.
        read_ahead: How many numbers are read at a time. It changes the speed, not the numbers.
    """

    def __init__(self, generators: Sequence[np.random.Generator], read_ahead: int = 256) -> None:
        """Start with an empty buffer."""
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
            raise TabletopError(
                f"expected {len(self._generators)} rows, one for each stream, got {rows}."
            )
        if self._used + count > self._buffer.shape[1]:
            self._refill(count)
        taken = self._buffer[:, self._used : self._used + count]
        self._used += count
        return taken

    def _refill(self, count: int) -> None:
        fresh = np.empty((len(self._generators), max(self._read_ahead, count)))
        for row, generator in zip(fresh, self._generators, strict=True):
            generator.random(out=row)
        # Numbers that are left over come first, so that none is skipped.
        self._buffer = np.concatenate([self._buffer[:, self._used :], fresh], axis=1)
        self._used = 0
