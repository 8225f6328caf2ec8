"""Objects that are alike: groups whose names differ only in a number, or in a word such as `left`.

Many names differ in one word only: `gripper_pos` and `cup_pos` do, but a gripper is not like a cup.
So a word counts only in two cases. Either it is one of the words in `TELL_APART`. Or the data show
that the same group moves both objects, as a gripper moves a cup and a bowl.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from goalsets.core import Group, StateLayout
from goalsets.data.propose.offers import Offer
from goalsets.data.propose.values import Sample

TELL_APART = frozenset(
    (
        "left", "right", "middle", "center", "centre", "front", "back", "rear",
        "upper", "lower", "top", "bottom", "inner", "outer", "near", "far",
        "north", "south", "east", "west", "first", "second", "third", "fourth",
        "one", "two", "three", "four", "a", "b", "c", "d", "big", "small", "large", "tall", "short",
        "red", "green", "blue", "yellow", "orange", "purple", "pink", "brown",
        "black", "white", "grey", "gray",
    )
)  # fmt: skip
"""Words that distinguish objects of one kind."""
SPOKEN = 6
"""Up to this many objects are named one by one."""


class _Reading(NamedTuple):
    """One way to read a group's name: as a kind, and the object that its star stands for."""

    kind: str
    thing: str
    group: Group


def alike(layout: StateLayout, sample: Sample, moved: Sequence[Offer]) -> Iterator[Offer]:
    """Offer kinds for groups: one offer for each set of objects.

    Args:
        layout: The proposed layout.
        sample: Groups that are constant in it are not considered.
        moved: Offers that say which group moves which.
    """
    movers = {o.group.name: o.group.relative_to for o in moved if o.group is not None}
    # A group that moves others is not one of these objects.
    candidates = [
        group
        for group in layout.groups
        if group.name not in movers.values() and not sample.constant[list(group.indices)].all()
    ]
    numbers = [r for group in candidates for r in _readings(group, r"[0-9]+")]
    words = [r for group in candidates for r in _readings(group, r"[A-Za-z0-9]+")]
    moved_things = {
        reading.thing
        for members in _by_form(words, movers).values()
        for reading in members
        if len(members) > 1
    }
    told_apart = [r for r in words if r.thing.lower() in TELL_APART or r.thing in moved_things]
    kinds = _kinds(dict.fromkeys([*numbers, *told_apart]))
    families: dict[tuple[str, frozenset[str]], list[list[_Reading]]] = {}
    for members in kinds:
        key = members[0].kind.partition("*")[0], frozenset(r.thing for r in members)
        families.setdefault(key, []).append(members)
    for family in families.values():
        yield _offer(family, movers)


def _readings(group: Group, pattern: str) -> Iterator[_Reading]:
    for found in re.finditer(pattern, group.name):
        before, after = group.name[: found.start()], group.name[found.end() :]
        # A name without letters is the column of a table, not an object.
        if re.search("[A-Za-z]", before + after):
            yield _Reading(f"{before}*{after}", found[0], group)


def _by_form(
    readings: Collection[_Reading], movers: dict[str, str]
) -> dict[tuple[str, int, str], list[_Reading]]:
    """Readings of groups that are moved, by their kind, their size and what moves them."""
    forms: dict[tuple[str, int, str], list[_Reading]] = {}
    for reading in readings:
        name, size = reading.group.name, len(reading.group.indices)
        if name in movers:
            forms.setdefault((reading.kind, size, movers[name]), []).append(reading)
    return forms


def _kinds(readings: Collection[_Reading]) -> list[list[_Reading]]:
    """The members of each kind. A group with several readings belongs to the first kind."""
    by_form: dict[tuple[str, int], list[_Reading]] = {}
    for reading in readings:
        by_form.setdefault((reading.kind, len(reading.group.indices)), []).append(reading)
    # Groups of one kind must have one size. If there are several sizes, take the most frequent one.
    by_kind: dict[str, list[_Reading]] = {}
    for (kind, _), members in by_form.items():
        by_kind[kind] = max(by_kind.get(kind, []), members, key=len)
    read: set[str] = set()
    chosen: dict[str, list[_Reading]] = {}
    for reading in readings:
        members = by_kind[reading.kind]
        if len(members) > 1 and reading in members and reading.group.name not in read:
            read.add(reading.group.name)
            chosen.setdefault(reading.kind, []).append(reading)
    return [members for members in chosen.values() if len(members) > 1]


def _offer(family: Sequence[Sequence[_Reading]], movers: dict[str, str]) -> Offer:
    members = [reading for kind in family for reading in kind]
    things = [reading.thing for reading in family[0]]
    spoken = things if len(things) <= SPOKEN else [*things[:2], "…", things[-1]]
    kinds = ", ".join(kind[0].kind for kind in family)
    evidence = f"their names are {kinds}, where the star is {', '.join(spoken)}"
    by = [{movers.get(reading.group.name, "") for reading in kind} for kind in family]
    shared = [next(iter(found)) for found in by if len(found) == 1 and "" not in found]
    if shared:
        evidence += f"; {shared[0]} moves all of them"
    groups = tuple(dataclasses.replace(r.group, kind=r.kind) for r in members)
    indices = tuple(sorted(index for group in groups for index in group.indices))
    return Offer("alike", indices, evidence, groups)
