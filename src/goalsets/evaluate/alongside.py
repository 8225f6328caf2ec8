"""Evaluations alongside training: in processes of their own, so that training does not wait."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import deque
from pathlib import Path

from goalsets.evaluate.official import official_records
from goalsets.runs.run import Run
from goalsets.workers import WORKER_ENVIRONMENT


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
        self._known = {r["step"] for r in official_records(run)}

    def add(self, step: int) -> None:
        """Evaluate the weights of a step when its turn comes; not twice."""
        if step not in self._known:
            self._known.add(step)
            self._waiting.append(step)
        self.poll()

    def poll(self) -> None:
        """Start the next evaluation if none is under way."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
        if self._process is None and self._waiting:
            step = str(self._waiting.popleft())
            command = [sys.executable, "-m", "goalsets", "eval", str(self._run.path)]
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    [*command, "--step", step, *self._options],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, **WORKER_ENVIRONMENT},
                )

    @property
    def log(self) -> Path:
        """Where the evaluations say what they do."""
        return self._run.path / "evaluations.log"

    @property
    def left(self) -> int:
        """How many are under way or waiting."""
        self.poll()
        return len(self._waiting) + (self._process is not None)

    def wait(self, seconds: float) -> bool:
        """Wait for the one under way for so long; return whether all are done."""
        self.poll()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        return self.left == 0

    def stop(self) -> None:
        """End what is under way; its weights are kept and can be evaluated later."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None
        self._waiting.clear()
