"""Query: which coordinates define success, and how exactly.

A query is an immutable boolean mask over the coordinates of a layout, with optional tolerances. It
divides into *terms*: one for each group that it touches, and one for each active coordinate that
belongs to no group.

`&` joins requirements: the joined goal set is the intersection. If a term has two tolerances, the
smaller one holds. `-` removes coordinates. A query is never empty.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import grammar
from goalsets.core.errors import LayoutError, QueryError, suggest
from goalsets.core.layout import StateLayout
from goalsets.core.term import Term, print_terms, split_into_terms


@dataclass(frozen=True, eq=False)
class Query:
    """An immutable set of active coordinates that knows its layout.

    Build one with `Query.parse(text, layout)`, or from a mask. Printing a query gives text
    that parses back to it.
    """

    layout: StateLayout
    mask: NDArray[np.bool_]
    """`bool[D]`, read-only."""
    tolerances: Mapping[str, float] = field(default_factory=dict[str, float])
    """By term name, in observation units; only those that differ from the layout's default."""

    def __post_init__(self) -> None:
        """Check and freeze the mask and the tolerances."""
        mask = _checked_mask(self.mask, self.layout)
        mask.flags.writeable = False
        object.__setattr__(self, "mask", mask)
        active = {term.name: term.group for term in split_into_terms(self.layout, mask, {})}
        for name in self.tolerances:
            if name not in active:
                raise QueryError(_inactive_message(name, self.layout, active))
        checked = {
            name: group.check_tolerance(float(self.tolerances[name]))
            for name, group in active.items()
            if name in self.tolerances
        }
        distinct = {n: value for n, value in checked.items() if value != active[n].tolerance}
        object.__setattr__(self, "tolerances", distinct)

    @classmethod
    def parse(cls, text: str, layout: StateLayout) -> Query:
        """Read a query such as `"block0_pos:4cm & block0_yaw:20deg"` under a layout.

        Raises:
            QueryError: The text cannot be read, uses a name that the layout does not have, or
                leaves no coordinate.
        """
        if text.strip() in ("", "none"):
            raise QueryError("an empty query has no goal: name at least one group or coordinate.")
        try:
            return _evaluate(grammar.parse(text), layout)
        except LayoutError as error:  # a tolerance that its group cannot take
            raise QueryError(str(error)) from None

    @classmethod
    def all(cls, layout: StateLayout) -> Query:
        """The full-state query: every coordinate is active."""
        return cls(layout, np.ones(layout.dim, dtype=np.bool_))

    @functools.cached_property
    def terms(self) -> tuple[Term, ...]:
        """The requirements, in the layout's order; loose coordinates last."""
        return split_into_terms(self.layout, self.mask, self.tolerances)

    @functools.cached_property
    def indices(self) -> tuple[int, ...]:
        """The active coordinates."""
        return tuple(int(i) for i in np.flatnonzero(self.mask))

    def __and__(self, other: Query) -> Query:
        """Join two requirements: unite the coordinates, keep the smaller tolerances."""
        self._check_same_layout(other)
        tolerances: dict[str, float] = {}
        for term in (*self.terms, *other.terms):
            if term.tolerance is not None:
                tolerances[term.name] = min(term.tolerance, tolerances.get(term.name, math.inf))
        return Query(self.layout, self.mask | other.mask, tolerances)

    def __sub__(self, other: Query) -> Query:
        """Remove the coordinates of another query; the remaining terms keep their tolerances."""
        self._check_same_layout(other)
        mask = self.mask & ~other.mask
        if not mask.any():
            raise QueryError(
                f"'{self} - ({other})' leaves no coordinate: an empty query has no goal."
            )
        kept = {term.name for term in split_into_terms(self.layout, mask, {})}
        return Query(self.layout, mask, {n: t for n, t in self.tolerances.items() if n in kept})

    def with_tolerances(self, tolerances: Mapping[str, float | str]) -> Query:
        """Return this query with other tolerances, such as `{"pos": 0.4, "yaw": "20deg"}`."""
        groups = {term.name: term.group for term in self.terms}
        read: dict[str, float] = dict(self.tolerances)
        for name, value in tolerances.items():
            if name not in groups:
                raise QueryError(_inactive_message(name, self.layout, groups))
            try:
                read[name] = groups[name].read_tolerance(value)
            except LayoutError as error:
                raise QueryError(str(error)) from None
        return Query(self.layout, self.mask, read)

    def __len__(self) -> int:
        """Return the number of active coordinates, the paper's ‖q‖₀."""
        return len(self.indices)

    def __eq__(self, other: object) -> bool:
        """Two queries are equal when they ask the same of the same layout."""
        if not isinstance(other, Query):
            return NotImplemented
        return (
            self.indices == other.indices
            and self.tolerances == other.tolerances
            and self.layout == other.layout
        )

    def __hash__(self) -> int:
        """Hash over what equality compares."""
        return hash((self.indices, tuple(sorted(self.tolerances.items()))))

    def __str__(self) -> str:
        """Return text that parses back to this query."""
        if self.mask.all() and not self.tolerances:
            return "all"
        return print_terms(self.terms)

    def __repr__(self) -> str:
        """Show the text and the layout's name."""
        return f"Query({str(self)!r}, layout={self.layout.name!r})"

    def _check_same_layout(self, other: Query) -> None:
        if self.layout != other.layout:
            raise QueryError(
                f"cannot combine a query over layout {self.layout.name!r} "
                f"with one over {other.layout.name!r}."
            )


def _checked_mask(mask: ArrayLike, layout: StateLayout) -> NDArray[np.bool_]:
    array = np.array(mask)
    if array.shape != (layout.dim,):
        raise QueryError(
            f"a query over layout {layout.name!r} needs a mask of shape ({layout.dim},), "
            f"got {array.shape}."
        )
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise QueryError("a mask may hold only True and False, or 1 and 0.")
    if not array.any():
        raise QueryError("an empty query has no goal: name at least one group or coordinate.")
    return array.astype(np.bool_)


def _inactive_message(name: str, layout: StateLayout, active: Iterable[str]) -> str:
    if name in layout.by_name:
        return (
            f"got a tolerance for {name!r}, but the query asks only for {', '.join(active)}: "
            f"remove the tolerance, or add {name!r} to the query."
        )
    return f"tolerance for an unknown group {name!r}: {suggest(name, active)}"


def _evaluate(node: grammar.Node, layout: StateLayout) -> Query:
    if isinstance(node, grammar.Name):
        return _evaluate_name(node.name, layout)
    if isinstance(node, grammar.Indices):
        mask = np.zeros(layout.dim, dtype=np.bool_)
        for span in node.spans:
            mask[_resolve_span(span, layout)] = True
        return Query(layout, mask)
    if isinstance(node, grammar.Toleranced):
        return _evaluate_tolerance(node, layout)
    left, right = _evaluate(node.left, layout), _evaluate(node.right, layout)
    if isinstance(node, grammar.Join):
        return left & right
    if isinstance(node.right, grammar.Toleranced):
        raise QueryError(
            f"'{right}' is removed with '-', so it takes no tolerance: write the name alone."
        )
    return left - right


def _evaluate_name(name: str, layout: StateLayout) -> Query:
    if name == "all":
        return Query.all(layout)
    if name in layout.by_name:
        mask = np.zeros(layout.dim, dtype=np.bool_)
        mask[list(layout.by_name[name].indices)] = True
        return Query(layout, mask)
    if name == "none":
        raise QueryError("'none' asks for nothing, and an empty query has no goal.")
    if name == "task":
        if layout.task is None:
            raise QueryError(
                f"layout {layout.name!r} has no task: name groups or coordinates instead."
            )
        return Query.parse(layout.task, layout)
    if name in layout.aliases:
        return Query.parse(layout.aliases[name], layout)
    raise QueryError(f"unknown group {name!r}: {suggest(name, layout.vocabulary)}")


def _resolve_span(span: grammar.Span, layout: StateLayout) -> slice:
    start = 0 if span.start is None else span.start
    stop = layout.dim if span.stop is None else span.stop
    if span.single:
        stop = start + 1
    # Errors name the last coordinate of the span, not its end, which is one further.
    for index in (start, stop - 1):
        if not 0 <= index < layout.dim:
            raise QueryError(
                f"index {index} is out of bounds: this state has coordinates 0 to {layout.dim - 1}."
            )
    if stop <= start:
        raise QueryError(f"the span {start}:{stop} is empty: the end of a span is not part of it.")
    return slice(start, stop)


def _evaluate_tolerance(node: grammar.Toleranced, layout: StateLayout) -> Query:
    """Give every term of a part one tolerance; they must be measured in the same way."""
    part = _evaluate(node.part, layout)
    first = part.terms[0].group
    for term in part.terms[1:]:
        group = term.group
        if (group.metric, group.unit, group.scale) != (first.metric, first.unit, first.scale):
            raise QueryError(
                f"'{part}' joins {first.name!r} and {group.name!r}, which are measured in "
                "different ways: give each its own tolerance."
            )
    given = {t.name: t.group.tolerance_from(node.value, node.unit) for t in part.terms}
    return Query(layout, part.mask, given)
