"""A server of goalsets in its own process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(*words: str, says: str) -> Iterator[str]:
    """Start a command on a free port; yield the address that it prints, and end it."""
    command = [sys.executable, "-m", "goalsets", *words, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = next(filter(None, (re.search(says, line) for line in process.stdout)), None)
            if found is None:
                raise RuntimeError(f"goalsets {words[0]} did not start")
            yield found[1]
        finally:
            process.terminate()
            process.wait(30)
