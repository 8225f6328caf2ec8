"""Success is defined here and nowhere else.

A goal set is a reference state and a query. A state belongs to the set when it matches the
reference at the query's coordinates. There are two modes, both from the paper:

* the *conjunction* of terms (appendix F): every term's distance is within its tolerance;
* the *relaxed set* (section 3.1): d_q(s, g) = (1/‖q‖₀) Σᵢ qᵢ (sᵢ − gᵢ)² ≤ ε.

`GoalSet` holds one query and any number of references. The functions `mean_squared_distance` and
`all_terms_hold` take a mask for each row, as relabeling needs. Everything is batched over any
leading shape, and gives equal results for numpy arrays and torch tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core.errors import GoalSetError
from goalsets.core.layout import StateLayout
from goalsets.core.metrics import Array, Tensor, TensorLike, distance, namespace
from goalsets.core.query import Query
from goalsets.core.term import Term

Distances = TypeVar("Distances")
Flags = TypeVar("Flags")


@dataclass(frozen=True)
class Violation(Generic[Distances, Flags]):
    """One requirement of a goal set, and whether each state satisfies it."""

    name: str
    """The term's name, or `d_q` for a relaxed set."""
    distance: Distances
    """`[...]` in observation units."""
    tolerance: float
    """The largest distance that satisfies the term."""
    satisfied: Flags
    """`bool[...]`."""


class GoalSet:
    """All states that match a reference at the coordinates of a query.

    Args:
        reference: `[..., D]`, a full state for each goal; finite.
        query: Which coordinates define success.
        tolerances: By group: a number in observation units, or text such as `"20deg"`. They
            replace those of the query and the layout.
        epsilon: Use the relaxed set d_q ≤ epsilon instead of the conjunction of terms.
    """

    def __init__(
        self,
        reference: ArrayLike | TensorLike,
        query: Query,
        tolerances: Mapping[str, float | str] | None = None,
        *,
        epsilon: float | None = None,
    ) -> None:
        """Check the goal here, so that only wrong states can raise an error later."""
        self.query: Query = query.with_tolerances(tolerances) if tolerances else query
        self.epsilon = epsilon
        if epsilon is None:
            _check_tolerances_known(self.query)
        elif tolerances:
            raise GoalSetError("a relaxed set has one epsilon: it takes no tolerances.")
        elif not (np.isfinite(epsilon) and epsilon >= 0):
            raise GoalSetError(f"epsilon must be 0 or more, got {epsilon}.")
        self.reference: Array = _checked_reference(reference, query.layout)

    @property
    def layout(self) -> StateLayout:
        """The layout of the states that this set judges."""
        return self.query.layout

    @overload
    def contains(self, states: Tensor) -> Tensor: ...
    @overload
    def contains(self, states: ArrayLike) -> NDArray[np.bool_]: ...
    def contains(self, states: Array) -> Array:
        """Tell for states `[..., D]` whether they belong to the set: `bool[...]`.

        Leading shapes of states and references broadcast. A state with NaN at a coordinate of the
        query does not belong. The answer is a tensor for tensors, and a numpy array otherwise. For
        a single state and reference it has shape `[]`, which is numpy's own bool.
        """
        if self.epsilon is not None:
            return self.distance(states) <= self.epsilon
        return _conjunction(self.query.terms, *self._paired(states))

    @overload
    def distance(self, states: Tensor) -> Tensor: ...
    @overload
    def distance(self, states: ArrayLike) -> NDArray[np.floating]: ...
    def distance(self, states: Array) -> Array:
        """The paper's d_q for states `[..., D]`: mean squared difference over the query."""
        states, reference = self._paired(states)
        columns = _columns(self.query.indices)
        delta = states[..., columns] - reference[..., columns]
        return (delta * delta).sum(-1) / len(self.query)

    @overload
    def violations(self, states: Tensor) -> tuple[Violation[Tensor, Tensor], ...]: ...
    @overload
    def violations(
        self, states: ArrayLike
    ) -> tuple[Violation[NDArray[np.floating], NDArray[np.bool_]], ...]: ...
    def violations(self, states: Array) -> tuple[Violation[Array, Array], ...]:
        """Judge states `[..., D]` by each requirement, in the layout's order."""
        if self.epsilon is not None:
            apart = self.distance(states)
            return (Violation("d_q", apart, self.epsilon, apart <= self.epsilon),)
        states, reference = self._paired(states)
        found: list[Violation[Array, Array]] = []
        for term in self.query.terms:
            apart = _term_distance(term, states, reference)
            found.append(Violation(term.name, apart, _known(term), apart <= _known(term)))
        return tuple(found)

    def _paired(self, states: Array) -> tuple[Array, Array]:
        """Check states; return them and the references as arrays of the states' library."""
        states = as_array(states)
        _check_dimension("states", states.shape, self.layout)
        reference = _like(self.reference, states)
        if states.ndim == 1 or reference.ndim == 1:  # the usual case, which must be fast
            return states, reference
        try:
            np.broadcast_shapes(tuple(states.shape[:-1]), tuple(reference.shape[:-1]))
        except ValueError:
            raise GoalSetError(
                f"cannot pair states of leading shape {tuple(states.shape[:-1])} with references "
                f"of leading shape {tuple(reference.shape[:-1])}."
            ) from None
        return states, reference

    def __repr__(self) -> str:
        """Show the question and how many references it has."""
        rule = "" if self.epsilon is None else f", epsilon={self.epsilon}"
        return f"GoalSet({str(self.query)!r}, references={self.reference.shape[:-1]}{rule})"


def mean_squared_distance(states: Array, references: Array, masks: Array) -> Array:
    """d_q with a mask for each row: states, references and masks `[..., D]` give `[...]`."""
    xp = namespace(states)
    # Select before squaring: an inactive coordinate may hold anything, even NaN.
    delta = xp.where(masks, states - references, 0.0)
    return (delta * delta).sum(-1) / masks.sum(-1)


def all_terms_hold(layout: StateLayout, states: Array, references: Array, masks: Array) -> Array:
    """Conjunction of terms with a mask for each row, at the layout's tolerances: `bool[...]`.

    Args:
        layout: Gives the groups, metrics and tolerances.
        states: `[..., D]`.
        references: `[..., D]`.
        masks: `bool[..., D]`.
    """
    xp = namespace(states)
    states = xp.where(masks, states, 0.0)
    references = xp.where(masks, references, 0.0)
    return _conjunction(_all_terms(layout), states, references)


@functools.lru_cache(maxsize=64)
def _all_terms(layout: StateLayout) -> tuple[Term, ...]:
    """Every term of a layout. Cached, because relabeling needs them for every batch."""
    query = Query.all(layout)
    _check_tolerances_known(query)
    return query.terms


def _conjunction(terms: Sequence[Term], states: Array, reference: Array) -> Array:
    """Whether every term holds, `bool[...]`."""
    satisfied, *others = (_term_distance(t, states, reference) <= _known(t) for t in terms)
    for holds in others:
        satisfied = satisfied & holds
    return satisfied


def as_array(values: Array) -> Array:
    """Return numbers as a numpy array, and a torch tensor as it is."""
    if namespace(values) is not np:
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        raise GoalSetError("states must have one length: got a ragged sequence.") from None
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise GoalSetError(f"states must be numbers, got {array.dtype}.")
    return array


def _term_distance(term: Term, states: Array, reference: Array) -> Array:
    columns = _columns(term.indices)
    return distance(term.group.metric, states[..., columns], reference[..., columns])


@functools.lru_cache(maxsize=1024)
def _columns(indices: tuple[int, ...]) -> slice | list[int]:
    """Neighbouring coordinates as a slice, which costs no copy; others as a list."""
    first, last = indices[0], indices[-1]
    if list(indices) == list(range(first, last + 1)):
        return slice(first, last + 1)
    return list(indices)


def _known(term: Term) -> float:
    """The tolerance of a term that has been checked to have one."""
    assert term.tolerance is not None
    return term.tolerance


def _check_tolerances_known(query: Query) -> None:
    unknown = [term.name for term in query.terms if term.tolerance is None]
    if unknown:
        raise GoalSetError(
            f"no tolerance is known for {', '.join(unknown)}: "
            f"write one into the query, as in '{unknown[0]}:0.1'."
        )


def _check_dimension(what: str, shape: Sequence[int], layout: StateLayout) -> None:
    if len(shape) == 0 or shape[-1] != layout.dim:
        raise GoalSetError(
            f"{what} over layout {layout.name!r} need {layout.dim} coordinates in their last "
            f"axis, got shape {tuple(shape)}."
        )


def _checked_reference(reference: Array, layout: StateLayout) -> Array:
    reference = as_array(reference)
    _check_dimension("references", reference.shape, layout)
    values = np.asarray(reference.detach().cpu() if namespace(reference) is not np else reference)
    finite = np.isfinite(values)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise GoalSetError(
            f"a reference must be finite: {layout.describe(where[-1])} is {values[where]}."
        )
    return reference


def _like(reference: Array, states: Array) -> Array:
    """Return the reference as an array of the states' library, on their device."""
    xp = namespace(states)
    if namespace(reference) is xp:
        return reference if xp is np else reference.to(states.device)
    if xp is np:
        return reference.detach().cpu().numpy()
    return xp.as_tensor(reference, device=states.device)
