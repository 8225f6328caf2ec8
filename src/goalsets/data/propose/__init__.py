"""Proposes a layout for data that has none.

Names come from the log: its keys and the names of its features. Every group has a tolerance, by the
rule of `goalsets.data.tolerances`. The data may suggest more: angles, quaternions, discrete values,
objects that are alike, and what moves them. These are *offers*, with their evidence. They are never
applied by themselves, because only people know what a coordinate means.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Group, StateLayout
from goalsets.core.field_names import groups as field_groups
from goalsets.core.metrics import Metric
from goalsets.data.flatten import FieldSpec, total_size
from goalsets.data.propose import motion, names, objects, values
from goalsets.data.propose.offers import Offer, Proposal
from goalsets.data.propose.values import Sample
from goalsets.data.tolerances import UsualTolerances

__all__ = ["Offer", "Proposal", "propose_layout"]


def propose_layout(
    fields: Sequence[FieldSpec],
    observations: NDArray[Any],
    name: str = "",
    *,
    starts: Sequence[int] | None = None,
) -> Proposal:
    """Propose a layout.

    Args:
        fields: What makes up the observation vector, as a source's `fields()` returns it.
        observations: A sample `[N, D]` of the data; values that are not finite are ignored.
        name: A name for the layout.
        starts: The rows at which episodes begin; every other row follows the row before it. None
            means that rows do not follow each other. Motion is then not examined.
    """
    dim = total_size(fields)
    if observations.ndim != 2 or observations.shape[1] != dim:
        raise GoalsetsError(
            f"the fields have {dim} coordinates together: expected a sample of shape [N, {dim}], "
            f"got {list(observations.shape)}."
        )
    usual = UsualTolerances(observations)
    groups, reasons = [], {}
    for group in field_groups(fields):
        tolerance, reasons[group.name] = usual.find(group.indices, group.metric)
        groups.append(dataclasses.replace(group, tolerance=tolerance))
    layout = StateLayout(dim, groups, names.aliases(fields, groups), name=name)
    sample = Sample(observations)
    offers = list(_values(fields, layout, sample, usual))
    for group in layout.groups:
        offers += values.constant(group, sample)
    # A coordinate that may be an angle or a discrete value is not a position.
    special = {i for o in offers if o.kind != "constant" for i in o.indices}
    places = [group for group in layout.groups if special.isdisjoint(group.indices)]
    moved = motion.relative(places, observations, starts)
    return Proposal(layout, (*offers, *objects.alike(layout, sample, moved), *moved), reasons)


def _values(
    fields: Sequence[FieldSpec], layout: StateLayout, sample: Sample, usual: UsualTolerances
) -> Iterator[Offer]:
    """Offers for each field by the values of its coordinates."""
    stops = np.cumsum([field.size for field in fields])
    for field, stop in zip(fields, stops.tolist(), strict=True):
        for kind, indices, evidence in values.find(sample, stop - field.size, stop):
            metric: Metric = "exact" if kind in ("one-hot", "discrete") else kind
            tolerance, _ = usual.find(indices, metric)
            name = names.for_part(layout, kind, indices)
            group = Group(name, indices, metric, tolerance=tolerance)
            yield Offer(kind, tuple(indices), evidence, (group,))
