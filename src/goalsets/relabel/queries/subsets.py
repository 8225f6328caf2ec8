"""Random subsets of a few things, many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalsets.relabel.queries.base import Masks


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
