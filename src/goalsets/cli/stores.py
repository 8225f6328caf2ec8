"""The data of a task, for the command line, which says on standard error what it had to make."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goalsets.data.store import Store


def find_store(task: str, data: Path | None, *, make: bool = False) -> Store:
    """Open the store that was named, or the task's own: see `goalsets.collect.find`."""
    from goalsets.collect.find import find_store as find

    return find(task, data, make=make, say=lambda text: print(text, file=sys.stderr))
