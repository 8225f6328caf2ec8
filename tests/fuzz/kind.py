"""A kind of file: how to make a good one, how to read it, and how to change what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.mutate import Rng

Change = Callable[[bytes, Rng], bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    make: Callable[[Path], None]
    """Writes a good one, and what must lie beside it, into a directory."""
    file: str
    """The file that is changed; a pattern where one of several is."""
    read: Callable[[Path], object]
    """Reads it from the directory; what it returns is the answer."""
    says: Change | None = None
    """Changes what the file says; None leaves it at bytes."""
    sealed: bool = False
    """Whether it has a digest."""
    forged: bool = False
    """Whether it is given the digest that fits its changed content."""
