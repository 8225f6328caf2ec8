"""The errors that users see. Each says what was expected, what came, and what to try."""

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


class FileError(GoalsetsError):
    """A file that is not what it should be; the message names the file and the place in it."""


class UnknownNameError(GoalsetsError):
    """A name that no registry entry has."""


_MOST_LISTED = 12
"""An error lists up to this many names. For more, it names the command that lists them."""


def suggest(name: str, valid: Iterable[str], listing: str = "") -> str:
    """Return a sentence that points from a wrong name to the right ones.

    It offers similar names, and names that contain the wrong one, as "did you mean". Otherwise it
    lists the valid names.

    Args:
        name: The wrong name.
        valid: The right ones.
        listing: A command that lists them, if there is one. The sentence then names the command
            instead of listing many names.
    """
    names = list(valid)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.55)
    if near:
        return f"did you mean {' or '.join(repr(n) for n in near)}?"
    if not names:
        return "there are no names to choose from."
    if not listing or len(names) <= _MOST_LISTED:
        return f"valid names: {', '.join(names)}."
    longer = [n for n in names if len(name) >= 3 and name.lower() in n.lower()]
    if longer:
        shown, more = longer[:3], len(longer) - 3
        others = f" {more} more contain {name!r};" if more > 0 else ""
        return f"did you mean {' or '.join(map(repr, shown))}?{others} {listing!r} lists all."
    return f"none of the {len(names)} names is similar; {listing!r} lists them."
