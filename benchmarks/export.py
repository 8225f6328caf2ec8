"""Exported policies: how fast they act, one observation at a time, on one core."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import torch

from benchmarks.line import Line, one_core
from benchmarks.rollout import untrained
from goalsets.export import export_onnx
from goalsets.runs.run import Run
from goalsets.runtime import load

CALLS = 3_000
QUERY = "cube_pos & eff_yaw"


def lines() -> Iterator[Line]:
    """Yield the lines."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        run = Run.open(untrained(Path(place), learner="gcdl"))
        start = time.perf_counter()
        done = export_onnx(run, Path(place) / "policy.onnx")
        seconds = time.perf_counter() - start
        yield Line("export of gcdl with 10,000 questions", seconds, "s")
        yield Line("  its size", done.size / 1e6, "MB")
        yield Line("  actions apart, at the most", done.parity.action, "", 1e-5, at_most=True)
        assert done.parity.distance is not None
        yield Line(
            "  distances apart, of the largest", done.parity.distance, "", 1e-5, at_most=True
        )
        exported, original = load(done.path), run.load()[0]
        states = np.random.default_rng(0).standard_normal((CALLS, 28), dtype=np.float32)
        with one_core():
            # In turns, so that other load affects all of them alike.
            acting, telling, torch_acting = _microseconds(
                lambda row: exported.act(states[row], states[0], QUERY),
                lambda row: exported.distance(states[row], states[0], QUERY),
                lambda row: original.act(states[row], states[0], QUERY),
            )
            whole = _milliseconds(lambda: exported.act(states[:1024], states[0], QUERY))
        yield Line("one action, exported, one core", acting, "us", 60.0, at_most=True)
        yield Line("  one distance", telling, "us")
        yield Line("  one action with torch", torch_acting, "us")
        yield Line("  1,024 actions at once, exported", whole, "ms")


def _microseconds(*calls: Callable[[int], object]) -> list[float]:
    """The median time of each call."""
    times: list[list[float]] = [[] for _ in calls]
    for start in range(0, CALLS, 100):
        for call, seen in zip(calls, times, strict=True):
            call(start)  # not timed: it finds the caches filled by the other calls
            for row in range(start, start + 100):
                before = time.perf_counter()
                call(row)
                seen.append(time.perf_counter() - before)
    return [1e6 * median(seen) for seen in times]


def _milliseconds(call: Callable[[], object]) -> float:
    seen: list[float] = []
    for _ in range(30):
        before = time.perf_counter()
        call()
        seen.append(time.perf_counter() - before)
    return 1e3 * median(seen)
