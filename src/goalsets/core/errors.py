"""The errors people see: each says what was expected, what came, and what to try."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GoalsetsError(ValueError):
    """Base of every error that a user's input can cause."""


class LayoutError(GoalsetsError):
    """A state layout contradicts itself."""


class QueryError(GoalsetsError):
    """A query cannot be read, or asks for something that the layout does not have."""


class GoalSetError(GoalsetsError):
    """A goal set cannot be built, or cannot judge the states it was given."""


class UnknownNameError(GoalsetsError):
    """A name that no registry entry has."""


def suggest(name: str, valid: Iterable[str]) -> str:
    """Return a sentence that points from a wrong name to the right ones.

    Near misses are offered as "did you mean"; otherwise the valid names are listed.
    """
    names = list(valid)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    if near:
        return f"did you mean {' or '.join(repr(n) for n in near)}?"
    if not names:
        return "there are no names to choose from."
    return f"valid names: {', '.join(names)}."
