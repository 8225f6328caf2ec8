"""Whether groups are at their goals, for arrays and tensors."""

from __future__ import annotations

from collections.abc import Sequence

from goalsets.condition.differences import Floats, constant, numbers, where
from goalsets.core import Group
from goalsets.core.metrics import Array, distance
from goalsets.relabel.units import EPSILON


class Reached:
    """Judges groups by their tolerances; a group without one by the paper's ε.

    Args:
        groups: The groups; their coordinates follow one another.
        scales: `[n]`: the deviations of the coordinates.
    """

    def __init__(self, groups: Sequence[Group], scales: Floats) -> None:
        """Find the coordinates of each group."""
        self._groups, self._scales, self._spans = groups, scales, spans_of(groups)

    def missing(self, here: Array, there: Array, active: Array) -> Array | None:
        """Whether an active group is not at its goal, `[...]`; None without groups.

        Args:
            here: `[..., n]`, the values of the groups, not standardised.
            there: `[..., n]`, their goals.
            active: `[..., n]`, which coordinates are asked for.
        """
        here, there = where(active, here), where(active, there)
        found = None
        for group, span in zip(self._groups, self._spans, strict=True):
            at, to = here[..., span], there[..., span]
            if group.tolerance is None:
                apart = (at - to) / constant(self._scales[span], at)
                far = (apart * apart).sum(-1) > EPSILON * numbers(active[..., span], at).sum(-1)
            else:
                far = distance(group.metric, at, to) > group.tolerance
            found = far if found is None else found | far
        return found


def spans_of(groups: Sequence[Group]) -> list[slice]:
    """Where each group lies among coordinates that follow one another."""
    spans: list[slice] = []
    for group in groups:
        begin = spans[-1].stop if spans else 0
        spans.append(slice(begin, begin + len(group.indices)))
    return spans
