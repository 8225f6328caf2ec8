"""Gradient steps: their speed, compared with the machine's peak and with the released code.

The released code is not part of goalsets. With a checkout of `cvg25/gs_her` in GOALSETS_RELEASED,
its steps and ours are timed in turns, on the same data and threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import torch

from benchmarks.flops import Product, flops
from benchmarks.line import Line, one_core, rate
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tasks import TASKS
from goalsets.learners import LEARNERS
from goalsets.policy import TrainedPolicy
from goalsets.runs.build import make_learner
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame
from goalsets.train.build import make_sampler
from goalsets.train.loop import Trainer

TASK = TASKS["cube-single-noisy-v0"]
THREADS = 2
BATCHES = (256, 1024, 8192)
NEAR_PEAK = ("gcivl", "gciql", "gcdl")


def lines() -> Iterator[Line]:
    """Yield the lines."""
    torch.set_num_threads(THREADS)
    product = Product()
    product.measure(50)
    for batch_size in BATCHES:
        for name in LEARNERS:
            yield from _step_lines(name, batch_size, product)
    yield Line("a 1024x256x256 product, two threads", product.peak / 1e9, "GFLOP/s")
    yield from _sampling()
    yield _memory("crl", "ours")
    if os.environ.get("GOALSETS_RELEASED"):
        yield from _beside_released()
    yield from _acting()


def make_trainer(name: str, batch_size: int, inputs: str = "plain") -> Trainer:
    """A learner on random trajectories; the time does not depend on the numbers."""
    config = TrainConfig(TASK.name, learner=name, batch_size=batch_size, inputs=inputs)
    data = random_data()
    frame = Frame(TASK.layout, unit_normaliser(), TASK.relabel_horizon, Bounds.plus_minus_one(5))
    return Trainer(config, make_learner(config, frame), make_sampler(config, frame, data))


def unit_normaliser() -> Normaliser:
    """Leaves everything as it is."""
    zeros, ones = np.zeros(28, np.float32), np.ones(28, np.float32)
    return Normaliser(zeros, ones, zeros[:5], ones[:5])


def random_data(episodes: int = 300, length: int = 1000) -> Trajectories:
    rng = np.random.default_rng(0)
    rows = episodes * (length + 1)
    return Trajectories(
        rng.standard_normal((rows, TASK.layout.dim), dtype=np.float32),
        rng.standard_normal((rows, 5), dtype=np.float32),
        np.arange(episodes + 1) * (length + 1),
    )


def _step_lines(name: str, batch_size: int, product: Product) -> Iterator[Line]:
    step = make_trainer(name, batch_size).step
    seconds = list[float]()
    for _ in range(3):
        step()
    for _ in range(5 if batch_size > 1024 else 15):
        seconds.append(timed(step))
        product.measure(2)
    work = flops(step)
    typical = median(seconds)
    what = f"{name}, batch {batch_size}: "
    share = 100 * work / typical / product.peak
    target = 75.0 if batch_size == 1024 and name in NEAR_PEAK else None
    yield Line(what + "gradient step", 1e3 * typical, "ms")
    yield Line(what + "matrix products", work / typical / 1e9, "GFLOP/s")
    yield Line(what + "share of the product's peak", share, "%", target)


def timed(act: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _sampling() -> Iterator[Line]:
    trainer = make_trainer("gciql", 1024)
    trainer.step()
    pairs = [
        (timed(lambda: trainer.sampler.sample(1024, trainer.rng)), timed(trainer.step))
        for _ in range(30)
    ]
    share = median(drawn for drawn, _ in pairs) / median(stepped for _, stepped in pairs)
    yield Line("a relabeled batch of 1024 in a GCIQL step", 100 * share, "%", 3.0, at_most=True)


def _memory(name: str, whose: str) -> Line:
    """The growth of the peak memory of a process by three steps of 8192."""
    command = [sys.executable, "-m", "benchmarks.peak_memory", whose, name, "8192"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    gib = json.loads(answer.stdout)["gib"]
    target = 1.5 if whose == "ours" else None
    label = f"{name}, batch 8192: peak memory of a step, {whose}"
    return Line(label, gib, "GiB", target, at_most=True)


def _beside_released() -> Iterator[Line]:
    from benchmarks import released

    cases = [(name, 1024, 1.5) for name in LEARNERS] + [("crl", 8192, 3.0)]
    for name, batch_size, target in cases:
        ours = make_trainer(name, batch_size).step
        theirs = released.make_step(name, batch_size, random_data())
        ours(), theirs()
        turns = 15 if batch_size == 1024 else 4
        pairs = [(timed(ours), timed(theirs)) for _ in range(turns)]
        ratio = median(t for _, t in pairs) / median(o for o, _ in pairs)
        yield Line(f"{name}, batch {batch_size}: step rate over the released", ratio, "x", target)
    mine, its = _memory("crl", "ours"), _memory("crl", "released")
    yield its
    label = "crl, batch 8192: peak memory over the released"
    yield Line(label, mine.measured / its.measured, "x", 0.25, at_most=True)


def _acting() -> Iterator[Line]:
    torch.set_num_threads(1)
    yield from _acting_with("plain", 10.0)
    yield from _acting_with("relational", 15.0)


def _acting_with(inputs: str, most: float) -> Iterator[Line]:
    states = random_data(2).observations[:1000]
    trainer = make_trainer("gcbc", 256, inputs)
    policy = TrainedPolicy(trainer.learner, TASK.layout, unit_normaliser())
    with one_core():
        single = 1e6 / rate(lambda: len(policy.act(states[0], states[1], "cube_pos")) // 5)
        many = 1e3 / rate(lambda: len(policy.act(states, states[1], "cube_pos")) // 1000)
    yield Line(f"act, one observation, {inputs} inputs", single, "us", 250.0, at_most=True)
    yield Line(f"act, 1,000 observations, {inputs} inputs", many, "ms", most, at_most=True)
