"""Workers that die, for tests of what happens then. In a file of its own: they are spawned."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from goalsets.evaluate.rollout import EpisodeResult, EpisodeSpec, make_runner

DEADLY = 3
"""The task id whose episodes kill."""


def dies_once(run: Path, step: int | None, plan: bool) -> Callable[[EpisodeSpec], EpisodeResult]:
    runner, marker = make_runner(run, step, plan), run / "died"

    def run_one(spec: EpisodeSpec) -> EpisodeResult:
        if spec.task_id == DEADLY and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return runner(spec)

    return run_one


def dies_always(run: Path, step: int | None, plan: bool) -> Callable[[EpisodeSpec], EpisodeResult]:
    runner = make_runner(run, step, plan)

    def run_one(spec: EpisodeSpec) -> EpisodeResult:
        if spec.task_id == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)
        return runner(spec)

    return run_one
