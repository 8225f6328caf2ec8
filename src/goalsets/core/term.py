"""Term: one requirement of a query; how a mask divides into terms, and how terms are printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalsets.core.group import Group
from goalsets.core.layout import StateLayout
from goalsets.core.metrics import UNITS

_DEGREE = UNITS["deg"][1]


@dataclass(frozen=True)
class Term:
    """One requirement of a query: the active coordinates of one group, or a loose coordinate."""

    group: Group
    """The group. A loose coordinate has its own group, such as `[7]`, without a tolerance."""
    indices: tuple[int, ...]
    """Which of its coordinates are active, in the group's order."""
    tolerance: float | None
    """In observation units; None if neither the layout nor the query gives one."""

    @property
    def name(self) -> str:
        """The group's name, or the coordinate in brackets."""
        return self.group.name

    @property
    def loose(self) -> bool:
        """Whether this is a coordinate that belongs to no group."""
        return self.name.startswith("[")

    @property
    def whole(self) -> bool:
        """Whether every coordinate of the group is active."""
        return len(self.indices) == len(self.group.indices)


def split_into_terms(
    layout: StateLayout, mask: NDArray[np.bool_], tolerances: Mapping[str, float]
) -> tuple[Term, ...]:
    """Divide a mask into its terms, in the layout's order; loose coordinates last."""
    terms: list[Term] = []
    for group in layout.groups:
        active = tuple(i for i in group.indices if mask[i])
        if active:
            terms.append(Term(group, active, tolerances.get(group.name, group.tolerance)))
    for index, owner in enumerate(layout.owners):
        if owner is None and mask[index]:
            group = Group.loose(index)
            terms.append(Term(group, (index,), tolerances.get(group.name)))
    return tuple(terms)


def print_terms(terms: Sequence[Term]) -> str:
    """Print terms as text of the query language."""
    grouped = [_print_grouped(term) for term in terms if not term.loose]
    return " & ".join([*grouped, *_print_loose(terms)])


def _print_grouped(term: Term) -> str:
    text = term.name if term.whole else print_indices(term.indices)
    if term.tolerance is not None and term.tolerance != term.group.tolerance:
        text += f":{_print_tolerance(term.group, term.tolerance)}"
    return text


def _print_loose(terms: Sequence[Term]) -> list[str]:
    """Print coordinates without a group; those with the same tolerance stand together."""
    together: dict[float | None, list[int]] = {}
    for term in terms:
        if term.loose:
            together.setdefault(term.tolerance, []).extend(term.indices)
    return [
        print_indices(indices) + ("" if tolerance is None else f":{tolerance!r}")
        for tolerance, indices in together.items()
    ]


def print_indices(indices: Iterable[int]) -> str:
    """Print coordinates as the query language writes them: `[3,19:22]`."""
    spans: list[list[int]] = []
    for index in sorted(indices):
        if spans and spans[-1][1] == index:
            spans[-1][1] = index + 1
        else:
            spans.append([index, index + 1])
    texts = [f"{start}" if stop == start + 1 else f"{start}:{stop}" for start, stop in spans]
    return f"[{','.join(texts)}]"


def _print_tolerance(group: Group, tolerance: float) -> str:
    """Print degrees if they convert back exactly; otherwise print the number itself."""
    if group.natural_unit == "rad":
        degrees = f"{group.in_natural_unit(tolerance) / _DEGREE:.6g}"
        if group.tolerance_from(float(degrees), "deg") == tolerance:
            return f"{degrees}deg"
    return repr(tolerance)
