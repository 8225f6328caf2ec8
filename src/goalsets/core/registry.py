"""One typed registry for everything that is chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from goalsets.core.errors import UnknownNameError, suggest

T = TypeVar("T")


class Registry(Generic[T]):
    """Names to entries of one kind; an unknown name lists the near ones.

    A name is the same word everywhere: in the registry, the file, the command line, the docs.
    """

    def __init__(self, kind: str) -> None:
        """Create an empty registry of `kind`, the word used in error messages."""
        self.kind = kind
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> T:
        """Add `entry` under `name`; a name can be taken only once."""
        if name in self._entries:
            raise UnknownNameError(f"the {self.kind} name {name!r} is already taken.")
        self._entries[name] = entry
        return entry

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds what it decorates under `name`."""

        def decorate(entry: T) -> T:
            return self.add(name, entry)

        return decorate

    def __getitem__(self, name: str) -> T:
        """Return the entry called `name`, or raise an error with the near names."""
        try:
            return self._entries[name]
        except KeyError:
            message = f"unknown {self.kind} {name!r}: {suggest(name, self._entries)}"
            raise UnknownNameError(message) from None

    def __contains__(self, name: object) -> bool:
        """Tell whether `name` is taken."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in the order in which they were added."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def items(self) -> list[tuple[str, T]]:
        """Return the names and entries in the order in which they were added."""
        return list(self._entries.items())
