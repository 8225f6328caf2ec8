"""One typed registry for everything that is chosen by name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar, cast

from goalsets.core.errors import UnknownNameError, suggest
from goalsets.core.plugins import (
    ensure_loaded,
    loaded_plugins,
    registering_plugin,
    undo_on_failure,
)

T = TypeVar("T")
Entry = TypeVar("Entry")


class Registry(Generic[T]):
    """Names to entries of one kind; an unknown name lists the near ones.

    A name is the same word everywhere: in the registry, the file, the command line, the docs.
    Plugins are loaded before the first reading of a registry in a process, so their entries are
    found too.
    """

    def __init__(self, kind: str, listing: str = "") -> None:
        """Create an empty registry of `kind`, the word used in error messages.

        `listing` is the command that lists the names, if there is one.
        """
        self.kind = kind
        self.listing = listing
        self._entries: dict[str, T] = {}
        self._plugins: dict[str, str | None] = {}

    def add(self, name: str, entry: T) -> T:
        """Add `entry` under `name`; a name can be taken only once."""
        plugin = registering_plugin()
        if name in self._entries:
            holder = self._plugins[name]
            by = "goalsets, or by this program" if holder is None else f"the plugin {holder!r}"
            raise UnknownNameError(f"the {self.kind} name {name!r} is already taken by {by}.")
        self._entries[name] = entry
        self._plugins[name] = plugin
        if plugin is not None:
            undo_on_failure(lambda: self._remove(name))
        return entry

    def register(self, name: str) -> Callable[[Entry], Entry]:
        """Return a decorator that adds what it decorates under `name`."""

        def decorate(entry: Entry) -> Entry:
            # The decorated object keeps its own type. Contract tests check the type of the kind.
            self.add(name, cast("T", entry))
            return entry

        return decorate

    def plugin_of(self, name: str) -> str | None:
        """Return the module of the plugin that added `name`; None if goalsets added it."""
        self[name]
        return self._plugins[name]

    def __getitem__(self, name: str) -> T:
        """Return the entry called `name`, or raise an error with the near names."""
        ensure_loaded()
        try:
            return self._entries[name]
        except KeyError:
            message = f"unknown {self.kind} {name!r}: {self.suggest(name)}"
            if plugins := loaded_plugins():
                message += f" Plugins that are loaded: {', '.join(plugins)}."
            raise UnknownNameError(message) from None

    def __contains__(self, name: object) -> bool:
        """Tell whether `name` is taken."""
        ensure_loaded()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in the order in which they were added."""
        ensure_loaded()
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        ensure_loaded()
        return len(self._entries)

    def items(self) -> list[tuple[str, T]]:
        """Return the names and entries in the order in which they were added."""
        ensure_loaded()
        return list(self._entries.items())

    def suggest(self, name: str) -> str:
        """Return a sentence that points from a wrong name to the right ones."""
        return suggest(name, self._entries, self.listing)

    def _remove(self, name: str) -> None:
        del self._entries[name], self._plugins[name]


def import_modules(package: str) -> None:
    """Import all modules directly inside a package, in the order of their names.

    So a file that registers a learner, a query distribution, a task or a source needs no entry in
    any list. Modules whose names begin with an underscore are not imported.
    """
    paths = importlib.import_module(package).__path__
    for found in sorted(pkgutil.iter_modules(paths), key=lambda module: module.name):
        if not found.name.startswith("_"):
            importlib.import_module(f"{package}.{found.name}")
