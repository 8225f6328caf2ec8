"""The errors of a collection."""

from __future__ import annotations

from goalsets.core import GoalsetsError


class CollectError(GoalsetsError):
    """A data set cannot be collected as asked."""


class CollectStopped(KeyboardInterrupt):
    """A collection was interrupted; the text says what is kept and how to continue."""
