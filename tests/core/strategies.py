"""Hypothesis strategies: random layouts, queries over them, and states that fit them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from goalsets import Group, Query, StateLayout

TOLERANCES = st.floats(0.0, 3.0, allow_nan=False)
VALUES = st.floats(-5.0, 5.0, allow_nan=False, width=32)


@st.composite
def groups(draw: st.DrawFn, indices: list[int], name: str) -> Group:
    """A group over the first of some free indices; takes away those it uses."""
    fitting = ["euclidean", "absolute", "exact"]
    fitting += ["angle"] if len(indices) >= 2 else []
    fitting += ["quaternion"] if len(indices) >= 4 else []
    metric = draw(st.sampled_from(fitting))
    fixed = {"angle": 2, "quaternion": 4}
    count = fixed.get(metric) or draw(st.integers(1, min(4, len(indices))))
    taken = [indices.pop(0) for _ in range(count)]
    return Group(
        name,
        taken,
        metric,
        unit=draw(st.sampled_from(["", "m", "rad", "m/s"])),
        scale=draw(st.sampled_from([1.0, 10.0, 18.0])),
        tolerance=None if metric == "exact" else draw(st.none() | TOLERANCES),
        description=draw(st.text(max_size=10)),
    )


@st.composite
def layouts(draw: st.DrawFn, *, complete: bool = False) -> StateLayout:
    """A layout with a few groups in any order, and perhaps coordinates without a group.

    `complete` covers every coordinate and gives every group a tolerance.
    """
    dim = draw(st.integers(1, 14))
    free = draw(st.permutations(range(dim)))
    numbers = range(draw(st.integers(0, 5)))
    found = [draw(groups(free, f"g{number}")) for number in numbers if free]
    if complete:
        found = [
            group if group.tolerance is not None else group.with_tolerance(1.0) for group in found
        ]
        found += [Group(f"rest{index}", (index,), "absolute", tolerance=1.0) for index in free]
    aliases = {"first_two": " & ".join(g.name for g in found[:2])} if found else {}
    task = found[-1].name if found else None
    return StateLayout(dim, found, aliases, task, name="random")


@st.composite
def queries(draw: st.DrawFn, layout: StateLayout, *, complete: bool = False) -> Query:
    """A query with any mask and tolerances; `complete` gives every term a tolerance."""
    mask = draw(hnp.arrays(np.bool_, layout.dim).filter(lambda m: m.any()))
    query = Query(layout, mask)
    given = {}
    for term in query.terms:
        if term.group.metric == "exact":
            continue
        if (complete and term.tolerance is None) or draw(st.booleans()):
            given[term.name] = draw(TOLERANCES)
    return Query(layout, mask, given)


def states(layout: StateLayout, *leading: int) -> st.SearchStrategy[np.ndarray]:
    """Finite states of a leading shape; coarse values make equal coordinates likely."""
    coarse = st.integers(-3, 3).map(float)
    return hnp.arrays(np.float64, (*leading, layout.dim), elements=coarse | VALUES)
