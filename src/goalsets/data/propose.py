"""Proposing a layout for data that has none.

Names come from the log: its keys and the names of its features. What the data themselves suggest
(angles, quaternions, discrete values, tolerances) is *offered*, with the evidence, and never
assumed: a coordinate pair on the unit circle may be anything, and only people know.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Group, StateLayout, layout_to_dict, print_indices
from goalsets.core.group import RESERVED
from goalsets.core.metrics import Metric
from goalsets.data.flatten import FieldSpec, total_size

MIN_ROWS = 20
"""Fewer finite rows are no evidence."""
UNIT_SHARE = 0.999
"""Share of the finite rows that must lie on the unit circle or sphere."""
UNIT_ERROR = 1e-3
"""How far from 1 their norm may be."""
MAX_VALUES = 10
"""A coordinate with more different whole numbers counts as continuous."""
TOLERANCE_SHARE = 0.05
"""Tolerance to offer, as a share of the range in which 98 % of the values lie."""

Found = Literal["angle", "quaternion", "one-hot", "discrete"]
Kind = Literal[Found, "constant", "tolerance"]
Finding = tuple[Found, range, str]
_ASKS: dict[Kind, str] = {
    "angle": "an angle as (cos, sin)?",
    "quaternion": "a unit quaternion?",
    "one-hot": "one-hot?",
    "discrete": "discrete?",
    "constant": "constant, so that no goal can be about it?",
}
_HEADER = """\
# A layout proposed from data. Comments are offers and not in force; each says what to put in place
# of which line, if that is what the coordinates are.
"""


@dataclass(frozen=True)
class Offer:
    """A change to the proposed layout that the data suggest."""

    kind: Kind
    indices: tuple[int, ...]
    """The coordinates it is about."""
    evidence: str
    """What was seen in the data."""
    group: Group | None
    """The group that these coordinates would form; None if they would belong to none."""

    def apply(self, layout: StateLayout) -> StateLayout:
        """Return a layout in which these coordinates are what the offer says."""
        groups: list[Group] = [] if self.group is None else [self.group]
        if self.kind == "tolerance" and self.group is not None:
            # Other offers may have changed the group since: only the tolerance is this one's.
            current = layout.group(self.group.name)
            groups = [dataclasses.replace(current, tolerance=self.group.tolerance)]
        taken = groups[0].indices if groups else self.indices
        for group in layout.groups:
            rest = [index for index in group.indices if index not in taken]
            if rest:
                groups.append(dataclasses.replace(group, indices=rest))
        groups.sort(key=lambda group: min(group.indices))
        return dataclasses.replace(layout, groups=groups)


@dataclass(frozen=True)
class Proposal:
    """A layout whose groups are all compared by distance, and what could be made of it."""

    layout: StateLayout
    offers: tuple[Offer, ...]

    def adopt(self, *offers: Offer) -> StateLayout:
        """Return the layout with some offers accepted, one after another."""
        layout = self.layout
        for offer in offers:
            layout = offer.apply(layout)
        return layout

    def yaml_lines(self, offer: Offer) -> tuple[list[str], list[str]]:
        """How to adopt an offer in the file: the groups whose lines go, and the lines that come."""
        after = self.adopt(offer)
        gone = [group.name for group in self.layout.groups if group not in after.groups]
        new = [group for group in after.groups if group not in self.layout.groups]
        return gone, [_yaml_line(group, self.layout.dim) for group in new]

    def to_yaml(self) -> str:
        """A layout file; the offers stand in it as comments."""
        import yaml

        head = yaml.safe_dump({"name": self.layout.name, "dim": self.layout.dim}, sort_keys=False)
        tolerances = {o.group.name: o for o in self.offers if o.kind == "tolerance" and o.group}
        lines = [_HEADER + head + "groups:"]
        for group in self.layout.groups:
            lines.append(f"  {_yaml_line(group, self.layout.dim)}")
            if group.name in tolerances:
                offer = tolerances[group.name]
                lines.append(f"  # {self.yaml_lines(offer)[1][0]}  # {offer.evidence}")
        for offer in self.offers:
            if offer.kind != "tolerance":
                gone, new = self.yaml_lines(offer)
                lines += [
                    f"\n# {print_indices(offer.indices)}: {_ASKS[offer.kind]} {offer.evidence}.",
                    f"# {'Put this in place of' if new else 'Delete'} {', '.join(gone)}"
                    + (":" if new else "."),
                    *(f"  # {line}" for line in new),
                ]
        return "\n".join(lines) + "\n"


def propose_layout(
    fields: Sequence[FieldSpec], observations: NDArray[Any], name: str = ""
) -> Proposal:
    """Propose a layout.

    Args:
        fields: What makes up the observation vector, as a source's `fields()` says.
        observations: A sample `[N, D]` of the data; values that are not finite are passed over.
        name: A name for the layout.
    """
    dim = total_size(fields)
    if observations.ndim != 2 or observations.shape[1] != dim:
        raise GoalsetsError(
            f"the fields have {dim} coordinates together: expected a sample of shape [N, {dim}], "
            f"got {list(observations.shape)}."
        )
    layout = StateLayout(dim, list(_groups(fields)), name=name)
    sample = _Sample(observations)
    offers: list[Offer] = []
    stops = np.cumsum([field.size for field in fields])
    for field, stop in zip(fields, stops.tolist(), strict=True):
        for kind, indices, evidence in _find(sample, stop - field.size, stop):
            metric: Metric = "exact" if kind in ("one-hot", "discrete") else kind
            group = Group(_offer_name(layout, kind, indices), indices, metric)
            offers.append(Offer(kind, tuple(indices), evidence, group))
    for group in layout.groups:
        offers += _constant(group, sample)
    for group in layout.groups:
        offers += _tolerance(group, sample)
    return Proposal(layout, tuple(offers))


class _Sample:
    """A sample of states, and what is true of each coordinate."""

    def __init__(self, observations: NDArray[Any]) -> None:
        self.rows = observations
        columns = [column[np.isfinite(column)] for column in observations.T]
        self.columns = columns
        self.constant = np.array([len(c) >= MIN_ROWS and np.ptp(c) <= 1e-7 for c in columns])
        self.discrete = np.array([self._is_discrete(c) for c in columns]) & ~self.constant
        self.binary = np.array([bool(np.isin(c, (0, 1)).all()) for c in columns])

    @staticmethod
    def _is_discrete(column: NDArray[Any]) -> bool:
        if len(column) < MIN_ROWS or (column != np.round(column)).any():
            return False
        return len(np.unique(column)) <= MAX_VALUES

    def finite(self, window: range) -> NDArray[Any]:
        rows = self.rows[:, window.start : window.stop]
        return rows[np.isfinite(rows).all(axis=1)]

    def unit_share(self, window: range) -> float:
        """The share of rows of norm 1 among those without gaps; 0 if they are too few."""
        rows = self.finite(window).astype(np.float64)
        if len(rows) < MIN_ROWS:
            return 0.0
        return float((np.abs(np.linalg.norm(rows, axis=1) - 1.0) <= UNIT_ERROR).mean())

    def is_unit(self, window: range) -> bool:
        moving = sum(not (self.constant[i] or self.discrete[i]) for i in window)
        return moving >= 2 and self.unit_share(window) >= UNIT_SHARE


def _find(sample: _Sample, start: int, stop: int) -> Iterator[Finding]:
    """Look at the coordinates of one field from the left; what is found does not overlap."""
    at = start
    while at < stop:
        found = _unit(sample, at, start, stop) or _discrete(sample, at, stop)
        if found is not None:
            yield found
        at = at + 1 if found is None else found[1].stop


def _unit(sample: _Sample, at: int, start: int, stop: int) -> Finding | None:
    kinds: tuple[tuple[Found, int], ...] = (("quaternion", 4), ("angle", 2))
    for kind, size in kinds:
        window = range(at, at + size)
        if window.stop > stop or not sample.is_unit(window):
            continue
        # A pair or a direction beside coordinates that stay 0 has norm 1 too; but a field of
        # exactly four coordinates is a quaternion, even if it turns about one axis only.
        parts = (range(first, first + n) for n in (2, 3) for first in range(at, at + size - n + 1))
        if size == 2 or size == stop - start or not any(map(sample.is_unit, parts)):
            share, rows = 100 * sample.unit_share(window), len(sample.finite(window))
            evidence = f"norm within {UNIT_ERROR:g} of 1 in {share:.4g}% of {rows} rows"
            return kind, window, evidence
    return None


def _discrete(sample: _Sample, at: int, stop: int) -> Finding | None:
    if not sample.discrete[at]:
        return None
    for end in range(at + 2, stop + 1):
        if not sample.binary[at:end].all():
            break
        rows = sample.finite(range(at, end))
        if len(rows) >= MIN_ROWS and (rows.sum(axis=1) == 1).all():
            return "one-hot", range(at, end), f"one of them is 1 in each of {len(rows)} rows"
    values = ", ".join(f"{value:g}" for value in np.unique(sample.columns[at]))
    return "discrete", range(at, at + 1), f"{len(sample.columns[at])} rows hold only {values}"


def _offer_name(layout: StateLayout, kind: str, indices: range) -> str:
    """The group's own name if it is about the whole group, else a new one after the first."""
    owners = [owner for owner in (layout.owners[index] for index in indices) if owner is not None]
    first = owners[0]
    if len(owners) == len(first.indices) and set(first.indices) == set(indices):
        return first.name
    return _unique(f"{first.name}_{kind.replace('-', '')}_{indices.start}", list(layout.by_name))


def _constant(group: Group, sample: _Sample) -> Iterator[Offer]:
    indices = tuple(index for index in group.indices if sample.constant[index])
    if indices:
        values = ", ".join(f"{sample.columns[index][0]:.4g}" for index in indices)
        yield Offer("constant", indices, f"{len(sample.rows)} rows hold only {values}", None)


def _tolerance(group: Group, sample: _Sample) -> Iterator[Offer]:
    """Offer a share of the widest range; a few outliers shall not widen it."""
    widest = 0.0
    for index in group.indices:
        if len(sample.columns[index]) >= MIN_ROWS:
            low, high = np.percentile(sample.columns[index], (1, 99))
            widest = max(widest, float(high - low))
    tolerance = float(f"{TOLERANCE_SHARE * widest:.2g}")
    if tolerance > 0:
        evidence = f"{TOLERANCE_SHARE:.0%} of the range of 98% of its values, {widest:.3g}"
        changed = dataclasses.replace(group, tolerance=tolerance)
        yield Offer("tolerance", tuple(group.indices), evidence, changed)


def _groups(fields: Sequence[FieldSpec]) -> Iterator[Group]:
    """One group for each named coordinate, else one for each field."""
    taken: list[str] = []
    start = 0
    for field in fields:
        wanted = field.names or (field.name or "state",)
        size = 1 if field.names else field.size
        for position, text in enumerate(wanted):
            name = _clean(text)
            if name in taken and field.names and field.name:
                name = _clean(f"{field.name}.{text}")
            name = _unique(name, taken)
            taken.append(name)
            yield Group(name, range(start + position, start + position + size))
        start += field.size


def _clean(text: str) -> str:
    """Make a name of the query language out of any text."""
    name = re.sub(r"[^A-Za-z0-9_./]+", "_", text).strip("_") or "state"
    if not re.match(r"[A-Za-z_]", name):
        name = f"_{name}"
    return f"{name}_" if name in RESERVED else name


def _unique(name: str, taken: Sequence[str]) -> str:
    candidates = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _yaml_line(group: Group, dim: int) -> str:
    """A group as one line of a layout file; neighbours as a span, so that it stays readable."""
    import yaml

    ((name, plain),) = layout_to_dict(StateLayout(dim, [group]))["groups"].items()
    first, last = group.indices[0], group.indices[-1]
    if len(group.indices) > 1 and tuple(group.indices) == tuple(range(first, last + 1)):
        plain["indices"] = f"{first}:{last + 1}"
    entry = yaml.safe_dump(plain, sort_keys=False, default_flow_style=True, width=float("inf"))
    # YAML takes some words for other things than text, so it writes the key itself.
    return yaml.safe_dump({name: 0}).replace(": 0", f": {entry}").strip()
