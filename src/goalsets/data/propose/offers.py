"""Offers: suggested changes to a proposed layout, and their text in the layout's file."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from goalsets.core import Group, StateLayout, layout_to_dict, print_indices

Found = Literal["angle", "quaternion", "one-hot", "discrete"]
Kind = Literal[Found, "constant", "alike", "relative"]

_WORDS: dict[Kind, str] = {"alike": "kind", "relative": "relative_to"}
"""Offers that set one entry of groups and change nothing else."""
_ASKS: dict[Kind, str] = {
    "angle": "an angle as (cos, sin)?",
    "quaternion": "a unit quaternion?",
    "one-hot": "one-hot?",
    "discrete": "discrete?",
    "constant": "constant, so that it cannot be a goal?",
    "alike": "objects that are alike?",
    "relative": "moved by {other}?",
}
_MEANS: dict[Kind, str] = {
    "alike": """
# Relational goal inputs then show only the object of the query, so all objects share one skill.
# Do not accept this for parts of the robot, such as its joints. It changes no query's meaning.""",
    "relative": """
# Relational goal inputs then show it relative to {other}. It changes no query's meaning.""",
}
"""The effect of an offer, if its name does not say it."""
_HEADER = """\
# A layout proposed from data. It is used as it is, with these tolerances. Comments are offers; they
# are not used. Each offer says which lines to replace, and with what, if it is right. To accept
# several offers for one group, write one line with the entries of all of them.
"""


@dataclass(frozen=True)
class Offer:
    """A change to the proposed layout that the data suggest."""

    kind: Kind
    indices: tuple[int, ...]
    """The coordinates that it changes."""
    evidence: str
    """What was seen in the data."""
    groups: tuple[Group, ...] = ()
    """The groups that these coordinates would form; empty if they would belong to none."""

    @property
    def group(self) -> Group | None:
        """The first of its groups; most offers have one."""
        return self.groups[0] if self.groups else None

    def apply(self, layout: StateLayout) -> StateLayout:
        """Return a layout in which these coordinates are what the offer says."""
        groups = self._wanted(layout)
        taken = {i for group in groups for i in group.indices} if self.groups else {*self.indices}
        for group in layout.groups:
            rest = [index for index in group.indices if index not in taken]
            if rest:
                groups.append(dataclasses.replace(group, indices=rest))
        groups.sort(key=lambda group: min(group.indices))
        return dataclasses.replace(layout, groups=groups)

    def _wanted(self, layout: StateLayout) -> list[Group]:
        """Its groups as they are in the layout, where other offers may have changed them."""
        if self.kind not in _WORDS:
            return list(self.groups)
        word = _WORDS[self.kind]
        return [
            dataclasses.replace(layout.by_name[group.name], **{word: getattr(group, word)})
            for group in self.groups
            if group.name in layout.by_name
        ]

    def question(self) -> str:
        """The question and the evidence, as comments of a layout file."""
        other = self.group.relative_to if self.group is not None else ""
        asked = f"{_ASKS[self.kind].format(other=other)} {self.evidence}."
        meant = _MEANS.get(self.kind, "").format(other=other)
        return f"# {print_indices(self.indices)}: {asked}{meant}"


@dataclass(frozen=True)
class Proposal:
    """A layout whose groups are all compared by distance, and offers to change it."""

    layout: StateLayout
    offers: tuple[Offer, ...]
    tolerances: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where the tolerance of each group comes from, by name."""

    def adopt(self, *offers: Offer) -> StateLayout:
        """Return the layout with some offers accepted; their order does not matter.

        Raises:
            LayoutError: Two offers contradict each other: for example, one makes a position
                relative to another one, and the other removes one of its coordinates.
        """
        layout = self.layout
        # Offers that change what a group is come before those that set one entry of it.
        for offer in sorted(offers, key=lambda offer: offer.kind in _WORDS):
            layout = offer.apply(layout)
        return layout

    def yaml_lines(self, offer: Offer) -> tuple[list[str], list[str]]:
        """How to adopt an offer in the file: the groups of old lines, and the new lines."""
        before, after = (
            layout_to_dict(layout)["groups"] for layout in (self.layout, self.adopt(offer))
        )
        gone = [name for name, plain in before.items() if after.get(name) != plain]
        new = [name for name, plain in after.items() if before.get(name) != plain]
        return gone, [_yaml_line(name, after[name]) for name in new]

    def to_yaml(self) -> str:
        """The text of a layout file, with the offers as comments."""
        import yaml

        head = yaml.safe_dump({"name": self.layout.name, "dim": self.layout.dim}, sort_keys=False)
        lines = [_HEADER + head.rstrip("\n")]
        if self.layout.aliases:
            # Aliases come first, so that the offers at the end of the file follow the groups.
            lines.append("aliases:")
            lines += [f"  {yaml.safe_dump({n: t}).strip()}" for n, t in self.layout.aliases.items()]
        lines.append("groups:")
        for name, plain in layout_to_dict(self.layout)["groups"].items():
            why = f"  # {self.tolerances[name]}" if name in self.tolerances else ""
            lines.append(f"  {_yaml_line(name, plain)}{why}")
        for offer in self.offers:
            gone, new = self.yaml_lines(offer)
            lines += [
                f"\n{offer.question()}",
                f"# {'Replace' if new else 'Delete'} {', '.join(gone)}" + (" by:" if new else "."),
                *(f"  # {line}" for line in new),
            ]
        return "\n".join(lines) + "\n"


def _yaml_line(name: str, plain: dict[str, Any]) -> str:
    """A group as one line of a layout file; neighbouring coordinates are written as a span."""
    import yaml

    indices = plain["indices"]
    first, last = indices[0], indices[-1]
    if len(indices) > 1 and indices == list(range(first, last + 1)):
        plain = {**plain, "indices": f"{first}:{last + 1}"}
    plain = {**plain, **_in_degrees(Group(name, indices, plain["metric"]), plain)}
    entry = yaml.safe_dump(plain, sort_keys=False, default_flow_style=True, width=float("inf"))
    # YAML must write the key itself: it reads some words, such as `on`, as other things than text.
    return yaml.safe_dump({name: 0}).replace(": 0", f": {entry}").strip()


def _in_degrees(group: Group, plain: dict[str, Any]) -> dict[str, str]:
    """The tolerance of an angle or a rotation in degrees, if that is exactly the same value."""
    if group.natural_unit != "rad" or not plain.get("tolerance"):
        return {}
    degrees = math.degrees(group.in_natural_unit(plain["tolerance"]))
    text = f"{degrees:.4g}deg"
    return {"tolerance": text} if group.read_tolerance(text) == plain["tolerance"] else {}
