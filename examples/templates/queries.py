"""Questions of my own to train with, in one file: one group of the layout at a time.

Copy it, change the lines that are marked with "Yours:", and run
`goalsets train TASK --scheme gs-one-group --plugin my_queries.py`.
"""

from dataclasses import dataclass

import numpy as np

from goalsets import GoalsetsError
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES, Scheme


@QUERY_DISTRIBUTIONS.register("one-group")  # Yours: the distribution's name.
@dataclass(frozen=True)
class OneGroup:
    """Yours: which questions it draws. No command sets its fields, so each needs a default."""

    p_all: float = 0.1
    """The probability of a question about everything."""

    def sample(self, layout, batch_size, rng):
        """Yours: draw `bool[B, D]` with no empty row. Draw every random number from `rng`."""
        blocks = self.blocks(layout)
        chosen = rng.integers(len(blocks), size=batch_size)
        everything = rng.random((batch_size, 1)) < self.p_all
        return blocks[chosen] | everything

    def marginals(self, layout):
        """Yours: how often each coordinate is active, `[D]`. A check compares `sample` with it."""
        return self.p_all + (1 - self.p_all) * self.blocks(layout).mean(axis=0)

    def blocks(self, layout):
        """The groups as masks `bool[groups, D]`."""
        if not layout.groups:
            raise GoalsetsError(f"the layout {layout.name!r} has no groups to draw: name some.")
        coordinates = np.arange(layout.dim)
        return np.stack([np.isin(coordinates, group.indices) for group in layout.groups])


# Yours: the scheme's name, for `goalsets train --scheme`.
SCHEMES.add("gs-one-group", Scheme("one-group"))
