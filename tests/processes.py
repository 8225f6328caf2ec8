"""Servers of goalsets in processes of their own, as a user runs them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass
class Started:
    """A process that listens, and where; once it has ended, what it said."""

    url: str
    process: subprocess.Popen[str]
    out: str = ""
    errors: str = ""


@contextlib.contextmanager
def started(
    *words: str, says: str, stop: signal.Signals, variables: Mapping[str, str]
) -> Iterator[Started]:
    """Start a command on a free port, and stop it by a signal: it must end in order.

    Args:
        words: The command without `goalsets`.
        says: A pattern of the line that names its address.
        stop: What ends it.
        variables: Added to the environment.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "goalsets", *words, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            found = next(filter(None, (re.search(says, line) for line in process.stdout)), None)
            assert found is not None, process.stderr.read()
            it = Started(found[1], process)
            yield it
        except BaseException:
            process.kill()
            raise
        if process.poll() is None:
            process.send_signal(stop)
        it.out, it.errors = process.communicate(timeout=30)
        assert process.returncode == 0, it.errors
        assert "Traceback" not in it.errors, it.errors
