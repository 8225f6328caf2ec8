"""Files: what checking their digests costs."""

from __future__ import annotations

import functools
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
        kept = run.steps[-1]
        for what, step, path, target in (
            ("kept weights", kept, run.weights(kept), 5.0),
            ("a checkpoint", None, run.checkpoint, None),
        ):
            data = path.read_bytes()
            start = data.index(MARK)
            text = data[start : start + len(OPEN_SEAL)].decode("ascii")
            # By turns, so that what the machine does besides falls on both.
            loading, checking = _milliseconds(
                functools.partial(run.load, step),
                functools.partial(check_seal, data, text, path),
            )
            yield Line(f"loading {what} of {len(data) / 1e6:.1f} MB", loading, "ms")
            share = 100 * checking / loading
            yield Line("  of it for the digest", share, "%", target, at_most=True)


def _milliseconds(*calls: Callable[[], object]) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, seen in zip(calls, times, strict=True):
            begun = time.process_time()
            call()
            seen.append(1e3 * (time.process_time() - begun))
    return [median(seen) for seen in times]
