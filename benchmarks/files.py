"""Files: what checking their digests costs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import torch

from benchmarks.line import Line, one_core
from benchmarks.rollout import untrained
from goalsets.core.door import check_seal
from goalsets.core.door.seal import MARK, OPEN_SEAL
from goalsets.runs.run import Run

ROUNDS = 30


def lines() -> Iterator[Line]:
    """Yield the lines."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place, one_core():
        run = Run.open(untrained(Path(place), learner="gciql"))
        path = run.checkpoint if run.checkpoint.exists() else run.weights(run.steps[-1])
        step = None if run.checkpoint.exists() else run.steps[-1]
        data = path.read_bytes()
        start = data.index(MARK)
        text = data[start : start + len(OPEN_SEAL)].decode("ascii")
        # By turns, so that what the machine does besides falls on both.
        loading, checking = _milliseconds(
            lambda: run.load(step), lambda: check_seal(data, text, path)
        )
    yield Line(f"loading a policy of {len(data) / 1e6:.1f} MB, with its digest", loading, "ms")
    yield Line("  of it for the digest", 100 * checking / loading, "%", 5.0, at_most=True)


def _milliseconds(*calls: Callable[[], object]) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, seen in zip(calls, times, strict=True):
            begun = time.process_time()
            call()
            seen.append(1e3 * (time.process_time() - begun))
    return [median(seen) for seen in times]
