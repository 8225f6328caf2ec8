"""Sweeps: how runs share the cores, and the cost of the driver and the engines.

Two runs with one thread each are compared with one run with two threads. And 2,000 runs that do
nothing pass through claims, status files, engine and driver.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

from benchmarks.line import Line
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play
from goalsets.envs.tasks import TASKS
from goalsets.sweep.drive import run_sweep
from goalsets.sweep.engine import Engine
from goalsets.sweep.grid import Evaluation, Sweep
from goalsets.sweep.local import LocalEngine
from goalsets.sweep.work import Assignment, Ended, Place, Stop, attempt
from goalsets.workers import environment, silence

SECONDS = 5.0
TASK = "tabletop-single-v0"
RUNS = 2_000


def lines() -> Iterator[Line]:
    yield from _sharing()
    yield from _overhead()


# --- Two runs of one thread, or one of two ---


def _sharing() -> Iterator[Line]:
    for learner, batch_size in (("gcbc", 1024), ("gciql", 512)):
        one = _steps_per_second(learner, batch_size, 1, threads=2)
        two = _steps_per_second(learner, batch_size, 2, threads=1)
        pinned = _steps_per_second(learner, batch_size, 2, threads=1, pinned=True)
        what = f"{learner}, batch {batch_size}: "
        yield Line(what + "one run of two threads", one, "steps/s")
        yield Line(what + "two runs of one thread", two, "steps/s")
        yield Line(what + "two of one over one of two", two / one, "x", 1.0)
        yield Line(what + "two of one, each on its core", pinned / two, "x")


def _steps_per_second(
    learner: str, batch_size: int, processes: int, *, threads: int, pinned: bool = False
) -> float:
    """Gradient steps of all processes together."""
    context = multiprocessing.get_context("spawn")
    queue, barrier = context.Queue(), context.Barrier(processes)
    cores = sorted(os.sched_getaffinity(0))
    crew = [
        context.Process(
            target=_train,
            args=(learner, batch_size, threads, cores[i] if pinned else None, barrier, queue),
        )
        for i in range(processes)
    ]
    with environment({"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}):
        for process in crew:
            process.start()
    total = sum(queue.get(timeout=120) for _ in crew)
    for process in crew:
        process.join()
    return total


def _train(
    learner: str,
    batch_size: int,
    threads: int,
    core: int | None,
    barrier: Barrier,
    queue: multiprocessing.Queue[float],
) -> None:
    import torch

    from benchmarks.learners import make_trainer

    if core is not None:
        os.sched_setaffinity(0, {core})
    torch.set_num_threads(threads)
    step = make_trainer(learner, batch_size).step
    for _ in range(10):
        step()
    barrier.wait()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        step()
        steps += 1
    queue.put(steps / (time.perf_counter() - start))


# --- Runs that do nothing ---


def nothing(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Everything that is done with a run except the work itself."""
    del stop
    job = assignment.jobs[0]
    return [Ended(job, *attempt(job, assignment, place, silence))]


def _overhead() -> Iterator[Line]:
    sweep = Sweep(
        name="nothing", tasks=(TASK,), seeds=tuple(range(RUNS)), evaluation=Evaluation(episodes=0)
    )
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data" / TASK
        layout = TASKS[TASK].layout
        write_store(data, record_play(4, 20).episodes(), [], layout=layout, source="play")
        os.environ["GOALSETS_DATA"] = str(data.parent)
        yield from _through("local", LocalEngine(do=nothing), sweep, Path(place) / "local")
        yield _again(sweep, Path(place) / "local")
        if importlib.util.find_spec("ray") is not None:
            from goalsets.sweep.ray import RayEngine

            os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
            engine = RayEngine(do=nothing)
            yield from _through("ray", engine, sweep, Path(place) / "ray")
            engine.close()


def _through(name: str, engine: Engine, sweep: Sweep, place: Path) -> Iterator[Line]:
    start = time.perf_counter()
    summary = run_sweep(sweep, place, engine)
    seconds = time.perf_counter() - start
    assert summary.complete, summary
    label = f"{RUNS:,} runs that do nothing, {name}"
    yield Line(label, seconds, "s")
    yield Line(f"{label}: for each", 1e3 * seconds / RUNS, "ms", 100.0, at_most=True)


def _again(sweep: Sweep, place: Path) -> Line:
    """The time of a driver that finds everything done."""
    start = time.perf_counter()
    assert not run_sweep(sweep, place, LocalEngine(do=nothing)).outcomes
    return Line(f"looking at {RUNS:,} finished runs", time.perf_counter() - start, "s")
