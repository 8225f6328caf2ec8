"""Starts a process that fuzzes, and reads what it reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class CrashError(Exception):
    """The process died; the message has its last lines."""


class Child:
    """A process that fuzzes some kinds, with a limit on its memory."""

    def __init__(self, kinds: Sequence[str], count: int, *, first: int = 0, seed: int = 0) -> None:
        command = [sys.executable, "-m", "tests.fuzz.child"]
        command += [*map(str, (count, first, seed)), *kinds]
        path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see `__exit__`
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # the terminal's interrupt comes to this process alone
        )

    def reports(self) -> Iterator[dict[str, Any]]:
        """Yield its reports as they come; raise an error if a library's fault ended it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield json.loads(line)
        if code := self._process.wait():
            self._errors.seek(0)
            last = "".join(self._errors.readlines()[-15:])
            raise CrashError(f"the process ended with {code}, after:\n{last}")

    def stop(self) -> None:
        """Let it end after the present file, and report."""
        self._process.terminate()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        with self._process, self._errors:  # waits for it
            pass
