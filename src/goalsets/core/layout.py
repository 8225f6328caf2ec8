"""StateLayout: what the coordinates of a state vector are called, and how they are compared."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from goalsets.core import grammar
from goalsets.core.errors import GoalsetsError, LayoutError, suggest
from goalsets.core.group import RESERVED, Group

MOST_COORDINATES = 65_536
"""The most coordinates of a state. Every row of a batch has masks and inputs of this width."""

MOST_NAMES = 256
"""The most names that an alias may stand for, including the aliases that it refers to."""


def _form(group: Group) -> tuple[object, ...]:
    return len(group.indices), group.metric, group.unit, group.scale


@dataclass(frozen=True, eq=False)
class StateLayout:
    """Ordered named groups over the coordinates of a state vector.

    Groups may not overlap. Coordinates that no group covers are legal; queries address them
    by index. `aliases` name combinations in the query language, and `task` is the query that
    the word `task` stands for.
    """

    dim: int
    groups: Sequence[Group]
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    task: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        """Check that the groups fit the state and that aliases can be read."""
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "aliases", dict(self.aliases))
        if self.dim < 1:
            raise LayoutError(f"a layout needs at least one coordinate, got dim={self.dim}.")
        if self.dim > MOST_COORDINATES:
            raise LayoutError(
                f"a layout has up to {MOST_COORDINATES:,} coordinates, got dim={self.dim:,}."
            )
        owner: dict[int, str] = {}
        seen: set[str] = set()
        for group in self.groups:
            if group.name in seen:
                raise LayoutError(f"two groups are called {group.name!r}.")
            seen.add(group.name)
            for index in group.indices:
                self._claim(index, group.name, owner)
        self._check_aliases(seen)
        for group in self.groups:
            self._check_relation(group)

    def _check_relation(self, group: Group) -> None:
        """Check that groups of one kind, and groups that are relative to each other, are alike."""
        if group.relative_to and group.relative_to not in self.by_name:
            raise LayoutError(
                f"group {group.name!r} is relative to an unknown group {group.relative_to!r}: "
                f"{suggest(group.relative_to, self.by_name)}"
            )
        others = [other for other in self.groups if group.kind and other.kind == group.kind]
        if len({other.relative_to for other in others if other.relative_to}) > 1:
            raise LayoutError(
                f"groups of the kind {group.kind!r} must be relative to the same group."
            )
        if group.relative_to:
            others.append(self.by_name[group.relative_to])
        for other in others:
            if _form(other) != _form(group):
                raise LayoutError(
                    f"groups {group.name!r} and {other.name!r} cannot be compared: they differ in "
                    "their number of coordinates, metric, unit or scale."
                )

    def _claim(self, index: int, name: str, owner: dict[int, str]) -> None:
        if not 0 <= index < self.dim:
            raise LayoutError(
                f"group {name!r}: index {index} is out of bounds, "
                f"the state has coordinates 0 to {self.dim - 1}."
            )
        if index in owner:
            raise LayoutError(f"groups {owner[index]!r} and {name!r} overlap at index {index}.")
        owner[index] = name

    def _check_aliases(self, groups: set[str]) -> None:
        for alias in self.aliases:
            if alias in groups:
                raise LayoutError(f"alias {alias!r} has the name of a group.")
            if alias in RESERVED or not re.fullmatch(grammar.NAME_PATTERN, alias):
                raise LayoutError(
                    f"{alias!r} cannot be the name of an alias: expected a letter or '_' followed "
                    "by letters, digits, '_', '.' or '/', and not 'all', 'task' or 'none'."
                )
        texts = {**self.aliases, **({} if self.task is None else {"task": self.task})}
        known: dict[str, int] = {}
        for alias in texts:
            self._check_alias(alias, texts, (), known)

    def _check_alias(
        self, alias: str, texts: Mapping[str, str], path: tuple[str, ...], known: dict[str, int]
    ) -> int:
        """Check an alias and those that it refers to; return how many names it stands for."""
        if alias in path:
            raise LayoutError(f"alias {alias!r} refers to itself: {' -> '.join((*path, alias))}.")
        if alias in known:
            return known[alias]
        count = 0
        try:
            used = list(grammar.names(grammar.parse(texts[alias])))
        except GoalsetsError as error:
            raise LayoutError(f"alias {alias!r}: {error}") from None
        for name in used:
            count += 1
            if name in texts:
                count += self._check_alias(name, texts, (*path, alias), known)
            elif name != "all" and name not in self.by_name:
                raise LayoutError(
                    f"alias {alias!r} refers to an unknown group {name!r}: "
                    f"{suggest(name, self.vocabulary)}"
                )
        if count > MOST_NAMES or len(path) > MOST_NAMES:
            # Aliases can refer to aliases: thirty lines could stand for a billion names.
            raise LayoutError(f"alias {alias!r} stands for more than {MOST_NAMES} names.")
        known[alias] = count
        return count

    @functools.cached_property
    def by_name(self) -> Mapping[str, Group]:
        """The groups by their names."""
        return {group.name: group for group in self.groups}

    @functools.cached_property
    def owners(self) -> tuple[Group | None, ...]:
        """For each coordinate, the group it belongs to."""
        owners: list[Group | None] = [None] * self.dim
        for group in self.groups:
            for index in group.indices:
                owners[index] = group
        return tuple(owners)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every name that a query may use."""
        task = () if self.task is None else ("task",)
        return (*self.by_name, *self.aliases, "all", *task)

    def group(self, name: str) -> Group:
        """Return the group called `name`, or raise an error with the near names."""
        if name not in self.by_name:
            raise LayoutError(f"unknown group {name!r}: {suggest(name, self.by_name)}")
        return self.by_name[name]

    def describe(self, index: int) -> str:
        """Return a coordinate as text: its index and, if it has one, its group."""
        owner = self.owners[index]
        return f"coordinate {index}" + ("" if owner is None else f" ({owner.name})")

    @functools.cached_property
    def _key(self) -> tuple[object, ...]:
        aliases = tuple(sorted(self.aliases.items()))
        return (self.dim, tuple(self.groups), aliases, self.task, self.name)

    def __eq__(self, other: object) -> bool:
        """Two layouts are equal when all their parts are equal."""
        return isinstance(other, StateLayout) and self._key == other._key

    def __hash__(self) -> int:
        """Hash over everything that equality compares."""
        return hash(self._key)
