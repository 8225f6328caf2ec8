"""Objects: which groups of a layout belong to the same object, and which objects are alike.

The star in a group's kind, such as `block*_pos`, stands for the object. Kinds form a *family* if
they have the same text before the star and the same objects. For example, `block*_pos` and
`block*_yaw` of blocks 0 and 1 are one family of two objects, each with a position and a heading.
"""

from __future__ import annotations

from dataclasses import dataclass

from goalsets.core.group import Group
from goalsets.core.layout import StateLayout


@dataclass(frozen=True)
class Family:
    """Objects that are alike."""

    names: tuple[str, ...]
    """What the star stands for, in the layout's order."""
    objects: tuple[tuple[Group, ...], ...]
    """For each object its groups; all objects have the same kinds, in the same order."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its groups."""
        return tuple(group.kind for group in self.objects[0])

    @property
    def seen_from(self) -> tuple[str, ...]:
        """For each kind the group that it is relative to; empty if there is none."""
        kinds = zip(*self.objects, strict=True)
        return tuple(next((g.relative_to for g in kind if g.relative_to), "") for kind in kinds)

    @property
    def has_place(self) -> bool:
        """Whether an object can be told from the others by its place."""
        return any(self.seen_from)


def families(layout: StateLayout) -> tuple[Family, ...]:
    """The families of a layout, in its order."""
    members: dict[str, dict[str, Group]] = {}
    for group in layout.groups:
        if group.kind:
            members.setdefault(group.kind, {})[group.object_name] = group
    alike: dict[tuple[str, frozenset[str]], list[str]] = {}
    for kind, groups in members.items():
        alike.setdefault((kind.partition("*")[0], frozenset(groups)), []).append(kind)
    return tuple(_family([members[kind] for kind in kinds]) for kinds in alike.values())


def beside_places(layout: StateLayout) -> tuple[Group, ...]:
    """The groups of no object, except those that objects are relative to.

    Objects are relative to the place of a hand. The other groups, such as the opening of a gripper,
    often change only where a hand touches an object.
    """
    places = {group.relative_to for group in layout.groups}
    return tuple(g for g in layout.groups if not g.kind and g.name not in places)


def _family(kinds: list[dict[str, Group]]) -> Family:
    names = tuple(kinds[0])
    return Family(names, tuple(tuple(groups[name] for groups in kinds) for name in names))
