"""Training and asking on the tabletop, many episodes at once: what learning tests share."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets import GoalSet, Query
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tabletop import (
    Streams,
    official_tasks,
    record_play,
    start_tasks,
    tabletop_layout,
)
from goalsets.policy import TrainedPolicy
from goalsets.runs.build import make_learner
from goalsets.runs.frame import Frame
from goalsets.runs.presets import resolve
from goalsets.train.build import draw_bank, make_sampler
from goalsets.train.loop import Trainer

TASK = "tabletop-single-v0"
LAYOUT = tabletop_layout(1)
HORIZON, EPISODES = 100, 100
MARGIN = 1.0
"""How far from the start, in standard deviations, a reference must be where the query looks."""

PREDICATES = {
    "cube_pos": "cube_pos",
    "airborne_cube_pos": "cube_pos",
    "cube_yaw": "cube_yaw",
    "cube_pose": "cube_pose",
    "ee_pos": "ee_pos",
    "ee_pose": "ee_pose",
}


@dataclass(frozen=True)
class Trained:
    """A policy, and how long it was trained."""

    policy: TrainedPolicy
    seconds: float


@functools.cache
def data() -> Trajectories:
    return Trajectories.from_episodes(list(record_play(1_000, 200, seed=0).episodes()))


@functools.cache
def bank() -> NDArray[np.float32]:
    """Held-out states."""
    return record_play(100, 200, seed=10_000).observations.reshape(-1, LAYOUT.dim)


def train(learner: str, scheme: str, seed: int = 0, **overrides: Any) -> Trained:
    """Train with the tabletop's settings of the cpu preset."""
    settings = overrides.pop("settings", {})
    config = resolve(
        TASK, learner=learner, scheme=scheme, seed=seed, overrides=overrides, settings=settings
    )
    normaliser = Normaliser.fit(data())
    frame = Frame(LAYOUT, normaliser, config.horizon or 60, Bounds.plus_minus_one(5))
    standard = normaliser.apply(data())
    built = make_learner(config, frame, draw_bank(config, standard))
    trainer = Trainer(config, built, make_sampler(config, frame, standard))
    start = time.perf_counter()
    trainer.run()
    return Trained(TrainedPolicy(built, LAYOUT, normaliser), time.perf_counter() - start)


def official(policy: TrainedPolicy, seed: int = 5) -> float:
    """Success on the five official tasks."""
    tasks = [official_tasks(1)[i % 5] for i in range(EPISODES)]
    world, goals = start_tasks(tasks, Streams.from_seeds([(seed, i) for i in range(EPISODES)]))
    return _roll_out(policy, world, goals, Query.parse("task", LAYOUT))


def predicate(policy: TrainedPolicy, name: str, seed: int = 6) -> float:
    """Success on held-out references under a predicate."""
    tasks = [official_tasks(1)[i % 5] for i in range(EPISODES)]
    world, _ = start_tasks(tasks, Streams.from_seeds([(seed, i) for i in range(EPISODES)]))
    query = Query.parse(PREDICATES[name], LAYOUT)
    return _roll_out(policy, world, _references(name, query, world.observe(), seed), query)


def _references(
    name: str, query: Query, starts: NDArray[np.float32], seed: int
) -> NDArray[np.float32]:
    """Held-out states that are not reached already: none near the start where the query looks."""
    states = bank()
    if name == "airborne_cube_pos":
        height = LAYOUT.group("block0_pos").indices[2]
        states = states[states[:, height] > 0.4]
    rng = np.random.default_rng(seed)
    deviation = bank().std(axis=0) + 1e-6
    chosen = np.empty_like(starts)
    for row, start in enumerate(starts):
        while True:
            candidate = states[rng.integers(len(states))]
            apart = np.abs((candidate - start) / deviation)[query.mask].max()
            if apart > MARGIN and not GoalSet(candidate, query).contains(start):
                break
        chosen[row] = candidate
    return chosen


def _roll_out(policy: TrainedPolicy, world: Any, goals: NDArray[np.float32], query: Query) -> float:
    states = world.observe()
    judge = GoalSet(goals, query)
    reached, memory = judge.contains(states), policy.reset()
    for _ in range(HORIZON):
        states = world.step(policy.act(states, goals, query, memory=memory))
        reached |= judge.contains(states)
    return float(reached.mean())
