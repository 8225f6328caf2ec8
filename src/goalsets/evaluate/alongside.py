"""Evaluations alongside training: in processes of their own, so that training does not wait."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from goalsets.evaluate.official import official_records
from goalsets.runs.run import Run
from goalsets.workers import WORKER_ENVIRONMENT

LOG = "evaluations.log"
"""The file in the run directory with the output of evaluations."""


@dataclass(frozen=True)
class Failure:
    """An evaluation that ended without a result."""

    step: int
    """The step of the weights."""
    reason: str
    """The last line of its output."""


class Alongside:
    """Evaluates kept weights one after another, each by `goalsets eval` in the background.

    Args:
        run: The run.
        episodes: Episodes for each official goal.
        workers: Processes of each evaluation.
    """

    def __init__(self, run: Run, episodes: int, workers: int) -> None:
        """Start nothing yet."""
        self._run = run
        self._options = ["--episodes", str(episodes), "--workers", str(workers)]
        self._waiting: deque[int] = deque()
        self._process: subprocess.Popen[bytes] | None = None
        self._step, self._said_from = 0, 0
        self.failures: list[Failure] = []
        self._known = {r["step"] for r in official_records(run)}

    def add(self, step: int) -> None:
        """Put the weights of a step into the queue, unless they are there already."""
        if step not in self._known:
            self._known.add(step)
            self._waiting.append(step)
        self.poll()

    def poll(self) -> None:
        """If the current evaluation has ended, note its result and start the next."""
        if self._process is not None and (code := self._process.poll()) is not None:
            self._process = None
            if code:
                self.failures.append(Failure(self._step, self._reason(code)))
        if self._process is None and self._waiting:
            self._step = self._waiting.popleft()
            command = [sys.executable, "-m", "goalsets", "eval", str(self._run.path)]
            with self.log.open("ab") as log:
                self._said_from = log.tell()
                self._process = subprocess.Popen(
                    [*command, "--step", str(self._step), *self._options],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **WORKER_ENVIRONMENT},
                )

    @property
    def log(self) -> Path:
        """The file with the output of the evaluations."""
        return self._run.path / LOG

    def _reason(self, code: int) -> str:
        """The last line of the evaluation's output, or how its process ended."""
        with self.log.open("rb") as log:
            log.seek(self._said_from)
            said = log.read().decode(errors="replace").splitlines()
        lines = [line.strip() for line in said if line.strip()]
        errors = [line for line in lines if line.startswith("error:")]
        if errors or lines:
            return (errors or lines)[-1].removeprefix("error:").strip()
        return f"signal {-code} ended it" if code < 0 else f"it ended with code {code}"

    @property
    def left(self) -> int:
        """How many are running or waiting."""
        self.poll()
        return len(self._waiting) + (self._process is not None)

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for the current evaluation; return whether all are done."""
        self.poll()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        return self.left == 0

    def stop(self) -> None:
        """Stop the current evaluation; its weights are kept and can be evaluated later."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
        self._waiting.clear()
