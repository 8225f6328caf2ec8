"""The default directory of data sets."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "GOALSETS_DATA"


def data_dir() -> Path:
    """The directory that `GOALSETS_DATA` names, or `~/.goalsets/data`; it need not exist yet."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".goalsets" / "data"
