"""One side of `benchmarks.by_hand`: answers requests, one line of JSON each, with its own source.

It also runs with the source of an earlier commit, so it may use only what both have.
"""

from __future__ import annotations

import functools
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import export, learners
from benchmarks.rollout import untrained
from goalsets.export import export_onnx
from goalsets.runtime import load
from goalsets.serve.metrics import Metrics
from goalsets.train.together import Stack

torch.set_num_threads(1)
make_trainer = functools.cache(learners.make_trainer)
place = tempfile.TemporaryDirectory()
states = np.random.default_rng(0).standard_normal((200, 28), dtype=np.float32)


def step(learner: str, batch: int) -> float:
    return seconds(make_trainer(learner, batch).step)


def faults(learner: str) -> tuple[float, float]:
    """Page faults of a step, and the share of its time in the system."""
    trainer, count = make_trainer(learner, 1024), 10
    trainer.step()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(count):
        trainer.step()
    after = resource.getrusage(resource.RUSAGE_SELF)
    system, user = after.ru_stime - before.ru_stime, after.ru_utime - before.ru_utime
    return (after.ru_minflt - before.ru_minflt) / count, system / (system + user)


def together(learner: str) -> float:
    return seconds(make_stack(learner).step)


@functools.cache
def make_stack(learner: str) -> Stack:
    return Stack([learners.make_trainer(learner, 1024) for _ in range(3)])


@functools.cache
def make_run(learner: str) -> Any:
    own = Path(place.name) / learner
    own.mkdir()
    return export.Run.open(untrained(own, learner=learner))


@functools.cache
def exported(learner: str) -> tuple[Any, float]:
    done: list[Any] = []
    file = Path(place.name) / f"{learner}.onnx"
    run = make_run(learner)
    taken = seconds(lambda: done.append(export_onnx(run, file)))
    return done[0], taken


@functools.cache
def runtime(learner: str) -> Any:
    return load(exported(learner)[0].path)


def export_figures(learner: str) -> dict[str, float]:
    done, seconds = exported(learner)
    figures = {"operations": done.operations, "bytes": done.size, "seconds": seconds}
    figures["actions apart"] = done.parity.action
    return figures | ({"distances apart": done.parity.distance} if done.parity.distance else {})


def act(learner: str) -> float:
    policy = runtime(learner)
    return typical(lambda row: policy.act(states[row], states[0], export.QUERY))


def distance(learner: str) -> float:
    policy = runtime(learner)
    return typical(lambda row: policy.distance(states[row], states[0], export.QUERY))


def count() -> float:
    metrics = Metrics()
    return typical(lambda _: [metrics.count_actions("a", "b", 1, 1e-4) for _ in range(100)]) / 100


def policy() -> float:
    trained = make_policy()
    return typical(lambda row: trained.act(states[row], states[0], export.QUERY))


@functools.cache
def make_policy() -> Any:
    return make_run("gcbc").load()[0]


def typical(call: Callable[[int], object]) -> float:
    """The time of a call, from many calls timed together, because the clock takes time, too."""
    return seconds(lambda: [call(row) for row in range(len(states))]) / len(states)


def seconds(act: Callable[[], object]) -> float:
    """Processor time, because wall-clock time would include the load of other processes."""
    start = time.process_time()
    act()
    return time.process_time() - start


ANSWERS = {f.__name__: f for f in (step, faults, together, act, distance, count, policy)}
ANSWERS["export"] = export_figures

for line in sys.stdin:
    name, *words = json.loads(line)
    print(json.dumps(ANSWERS[name](*words)), flush=True)
