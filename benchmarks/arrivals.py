"""Compute the arrivals of a million states, and draw batches with them, on one core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.line import Line, one_core, rate
from goalsets.data.trajectories import Trajectories
from goalsets.envs.layouts import scene_layout
from goalsets.relabel.arrivals import ArrivalLabels, Arrivals
from goalsets.relabel.batch import ACTOR, VALUE, BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS, VALUE_GOALS
from goalsets.relabel.queries import Semantic
from goalsets.relabel.sampler import Generators, Sampler
from goalsets.relabel.units import Rule

LAYOUT = scene_layout()
EPISODES, LENGTH, BATCH = 1_000, 1_000, 1024


def lines() -> Iterator[Line]:
    data = Trajectories(states(EPISODES), np.zeros((EPISODES * LENGTH, 5), np.float32), _offsets())
    rule = Rule(LAYOUT, data.observations.std(0))
    arrivals = Arrivals(rule, data)
    seconds: dict[str, float] = {}
    with one_core():
        for kind in ("groups", "coordinates"):
            start = time.perf_counter()
            getattr(arrivals, kind)
            seconds[kind] = time.perf_counter() - start
            yield Line(f"a million states of 40, table of {kind}", seconds[kind], "s")
        yield Line("both tables", sum(seconds.values()), "s", 60.0, at_most=True)
        direct = replace(ACTOR_GOALS, window=20, exponent=1.0)
        labels = ArrivalLabels(rule, np.zeros(LAYOUT.dim, np.float32))
        for name, actor, known in (
            ("draw 1024, labels by predicate", ACTOR_GOALS, {}),
            ("draw 1024, arrivals", ACTOR_GOALS, {"labels": labels, "arrivals": arrivals}),
            ("draw 1024, arrivals and direct", direct, {"labels": labels, "arrivals": arrivals}),
        ):
            spec = BatchSpec({VALUE: VALUE_GOALS, ACTOR: actor})
            sampler, rng = Sampler(data, LAYOUT, Semantic(), spec, **known), Generators.from_seed(0)
            yield Line(name, 1e3 * BATCH / rate(lambda s=sampler, r=rng: _draw(s, r)), "ms")


def _draw(sampler: Sampler, rng: Generators) -> int:
    return len(sampler.sample(BATCH, rng).states)


def _offsets() -> np.ndarray:
    return np.arange(EPISODES + 1) * LENGTH


def states(episodes: int) -> np.ndarray:
    """A robot that always moves, and objects that rest unless it moves them."""
    rng = np.random.default_rng(0)
    found = np.empty((episodes, LENGTH, LAYOUT.dim), np.float32)
    for group in LAYOUT.groups:
        own, width = group.name.startswith(("joint", "eff", "gripper")), len(group.indices)
        moves = rng.random((episodes, LENGTH, 1)) < 0.9
        if not own:  # moved in stretches of fifty steps, one in eight
            moves = np.repeat(rng.random((episodes, LENGTH // 50, 1)) < 0.12, 50, axis=1)
        steps = rng.normal(scale=0.05, size=(episodes, LENGTH, width)).astype(np.float32)
        values = np.cumsum(moves * steps, axis=1) + rng.normal(size=(episodes, 1, width))
        if group.name.endswith("_vel"):
            values = moves * steps * 4 + rng.normal(scale=0.03, size=values.shape)
        if group.metric in ("angle", "quaternion"):
            values /= np.linalg.norm(values, axis=-1, keepdims=True)
        if group.metric == "exact":
            pressed = np.cumsum(rng.random((episodes, LENGTH)) < 0.004, axis=1) % 2
            values = np.stack([pressed, 1 - pressed], axis=-1)
        found[..., list(group.indices)] = values
    return found.reshape(-1, LAYOUT.dim)
