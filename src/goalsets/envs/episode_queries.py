"""Draws the query of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query, StateLayout

Masks = NDArray[np.bool_]


class Queries(Protocol):
    """Draws queries of episodes: any of `goalsets.relabel.queries`, or `Listed`."""

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw `bool[B, D]`."""
        ...


@dataclass(frozen=True)
class Listed:
    """Some queries, all equally likely."""

    texts: Sequence[str]

    def sample(self, layout: StateLayout, batch_size: int, rng: np.random.Generator) -> Masks:
        """Draw one for each row."""
        masks = np.stack([Query.parse(text, layout).mask for text in self.texts])
        return masks[rng.integers(len(masks), size=batch_size)]

    def marginals(self, layout: StateLayout) -> NDArray[np.float64]:
        """The share of queries in which each coordinate is active."""
        return np.mean([Query.parse(text, layout).mask for text in self.texts], axis=0)


def as_queries(queries: str | Sequence[str] | Queries | None, layout: StateLayout) -> Queries:
    """Turn texts into a query distribution; by default the layout's task."""
    if queries is None:
        queries = "all" if layout.task is None else "task"
    if isinstance(queries, str):
        queries = (queries,)
    if not isinstance(queries, Sequence):
        return queries
    for text in queries:
        if Query.parse(text, layout).tolerances:
            raise GoalsetsError(
                f"{text!r} gives a tolerance, but tolerances belong to the environment: give "
                "GoalSetEnv tolerances instead."
            )
    if not queries:
        raise GoalsetsError("expected at least one query, got none.")
    return Listed(tuple(queries))
