"""Reads and checks the inputs of a policy: states, references and queries, single or batched."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core.errors import GoalsetsError
from goalsets.core.layout import StateLayout
from goalsets.core.query import Query

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]
QueryLike = str | Query | ArrayLike
"""How a query may be given: as text, as a `Query`, or as a mask `[D]` or `[B, D]`."""

_REMEMBERED = 1024
"""How many queries are kept with their masks: more than users ask, too few to fill memory."""


class Asked(NamedTuple):  # made for every action: a frozen dataclass takes three times as long
    """The inputs of one call. An array with one row is shared by all `rows`."""

    states: Floats
    """`[1 or rows, D]`."""
    goals: Floats
    """`[1 or rows, D]`."""
    masks: Masks
    """`[1 or rows, D]`."""
    rows: int
    single: bool
    """Whether no input had a batch dimension. The answer then has none either."""

    def each_row(self) -> tuple[Floats, Floats, Masks]:
        """States, goals and masks with a row for each answer, as views."""
        shape = (self.rows, self.states.shape[1])
        return (
            np.broadcast_to(self.states, shape),
            np.broadcast_to(self.goals, shape),
            np.broadcast_to(self.masks, shape),
        )


class InputReader:
    """Reads the arguments of `act` and `distance` over one layout."""

    def __init__(self, layout: StateLayout) -> None:
        """Remember no query yet."""
        self.layout = layout
        self._dim = layout.dim
        # A robot asks the same question at every step, so parsed masks are kept.
        self._masks: dict[str | Query, Masks] = {}

    def read(self, observation: ArrayLike, goal: ArrayLike, query: QueryLike) -> Asked:
        """Check shapes, and read the query."""
        states = self._checked("observation", observation)
        goals = self._checked("goal", goal)
        masks = self.mask(query)
        if states.ndim == 1 and goals.ndim == 1 and masks.ndim == 1:
            return Asked(states[None], goals[None], masks[None], 1, True)
        states, goals, masks = np.atleast_2d(states), np.atleast_2d(goals), np.atleast_2d(masks)
        counts = {"observation": len(states), "goal": len(goals), "query": len(masks)}
        rows = max(counts.values())
        for name, count in counts.items():
            if count not in (1, rows):
                raise GoalsetsError(
                    f"{name} has {count} rows, but another input has {rows}: expected 1 row or "
                    f"{rows}."
                )
        return Asked(states, goals, masks, rows, False)

    def _checked(self, name: str, values: ArrayLike) -> Floats:
        array = np.asarray(values, dtype=np.float32)
        shape = array.shape
        if len(shape) not in (1, 2) or shape[-1] != self._dim:
            raise GoalsetsError(
                f"{name} needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(array.shape)}."
            )
        return array

    def mask(self, query: QueryLike) -> Masks:
        """The mask of a query, `[D]` or `[B, D]`."""
        if isinstance(query, (str, Query)):
            known = self._masks.get(query)
            return self._remember(query) if known is None else known
        masks = np.array(query, dtype=np.bool_)
        if masks.ndim not in (1, 2) or masks.shape[-1] != self.layout.dim:
            raise GoalsetsError(
                f"a mask needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(masks.shape)}."
            )
        if not masks.any(axis=-1).all():
            raise GoalsetsError("an empty query has no goal: a mask needs an active coordinate.")
        return masks

    def _remember(self, query: str | Query) -> Masks:
        if len(self._masks) >= _REMEMBERED:
            self._masks.clear()
        return self._masks.setdefault(query, np.array(self._parse(query).mask, dtype=np.bool_))

    def _parse(self, query: str | Query) -> Query:
        if isinstance(query, str):
            return Query.parse(query, self.layout)
        if query.layout != self.layout:
            raise GoalsetsError(
                f"the query is over layout {query.layout.name!r}, the policy over "
                f"{self.layout.name!r}."
            )
        return query
