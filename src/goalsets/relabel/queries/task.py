"""Only the task's own query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goalsets.core import Query, StateLayout
from goalsets.relabel.queries.base import QUERY_DISTRIBUTIONS, SCHEMES, Masks, Scheme, Weights


@QUERY_DISTRIBUTIONS.register("task")
@dataclass(frozen=True)
class Task:
    """The layout's task query, always: hindsight relabeling with one fixed projection."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Return the task's mask in every row."""
        del rng
        return np.tile(Query.parse("task", layout).mask, (batch_size, 1))

    def marginals(self, layout: StateLayout) -> Weights:
        """One at the task's coordinates."""
        return Query.parse("task", layout).mask.astype(np.float64)


SCHEMES.add("her-task", Scheme("task", conditioning="task"))
