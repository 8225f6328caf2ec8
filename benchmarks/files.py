"""Files: the cost of checking their digests."""

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
from goalsets.core.door.tensors import check_tensors
from goalsets.runs.run import Run
from goalsets.runs.weights import is_acting

ROUNDS = 60


def lines() -> Iterator[Line]:
    """Yield the lines."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place, one_core():
        run = Run.open(untrained(Path(place), learner="gciql"))
        kept = run.steps[-1]
        for what, step, path in (
            ("kept weights", kept, run.weights(kept)),
            ("a checkpoint", None, run.checkpoint),
        ):
            data = memoryview(path.read_bytes())
            # The content is a second copy: loading does not bring it into the processor's cache.
            load = functools.partial(run.load, step)
            loading, checking, header = _milliseconds(
                load,
                load,
                functools.partial(check_tensors, data, path, is_acting),
                functools.partial(check_tensors, data, path, _is_none),
            )
            yield Line(f"acting from {what} of {len(data) / 1e6:.1f} MB", loading, "ms")
            share = 100 * (checking - header) / loading
            yield Line("  of it for the digests", share, "%", 5.0, at_most=True)


def _is_none(name: str) -> bool:
    del name
    return False


def _milliseconds(between: Callable[[], object], *calls: Callable[[], object]) -> list[float]:
    """The time of calls, in turns, so that other load affects all alike.

    Args:
        between: Called before each call, so that it finds the cache as after other work.
        calls: What is measured.
    """
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, seen in zip(calls, times, strict=True):
            between()
            begun = time.process_time()
            call()
            seen.append(1e3 * (time.process_time() - begun))
    return [median(seen) for seen in times]
