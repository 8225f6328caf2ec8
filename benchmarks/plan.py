"""Chains of questions: the time to make a plan, and to follow it compared with acting alone.

The world is the tabletop with two blocks, whose data is made in seconds; the plan is for a swap.
The policy is an untrained GCBC with relational inputs, because the time does not depend on weights.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.line import Line
from goalsets import GoalSet
from goalsets.core.acting import Policy
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tasks import TASKS
from goalsets.plan import Planner, PlanningPolicy
from goalsets.policy import TrainedPolicy
from goalsets.runs.build import make_learner
from goalsets.runs.frame import Frame
from goalsets.runs.presets import resolve

TASK = "tabletop-double-v0"
SWAP = 4


def lines() -> Iterator[Line]:
    task = TASKS[TASK]
    assert task.script is not None
    data = Trajectories.from_episodes(task.script.train())
    planner = Planner.learn(task.layout, data.observations, data.offsets)
    world = task.open()
    state, goal = world.start(SWAP, 0)
    goals = GoalSet(goal, task.query)
    planner.plan(state, goals)  # computes what is needed once for a question
    seconds: list[float] = []
    for _ in range(20):
        start = time.perf_counter()
        planner.plan(state, goals)
        seconds.append(time.perf_counter() - start)
    yield Line("plan for a swap of two blocks", 1e3 * statistics.median(seconds), "ms", 100, True)
    policy = _policy(data)
    planned = PlanningPolicy(policy, planner)
    mask, states = task.query.mask, _robot_moves(state, planner)
    alone: list[float] = []
    chained: list[float] = []
    for _ in range(30):  # in turns, so that other load affects both alike
        memory = planned.reset()
        planned.act(state, goal, task.query, memory=memory)  # makes the plan
        alone.append(_time(policy, states, goal, mask, None))
        chained.append(_time(planned, states, goal, task.query, memory))
    share = statistics.median(chained) / statistics.median(alone) - 1
    yield Line("following a plan, beside acting alone", 100 * share, "% more", 10, True)


def _policy(data: Trajectories) -> TrainedPolicy:
    config = resolve(TASK, scheme="gs-direct", overrides={"hidden": 256})
    normaliser = Normaliser.fit(data)
    bounds = Bounds.plus_minus_one(data.actions.shape[1])
    frame = Frame(TASKS[TASK].layout, normaliser, 60, bounds)
    return TrainedPolicy(make_learner(config, frame), frame.layout, normaliser, bounds)


def _robot_moves(state: np.ndarray, planner: Planner) -> np.ndarray:
    """States in which only the robot moves, so that the plan stays; few enough for one step."""
    states = np.repeat(state[None], 60, 0)
    things = {column for part in planner.parts for column in part.columns.tolist()}
    robot = [column for column in range(len(state)) if column not in things]
    states[:, robot] += np.random.default_rng(0).normal(0, 1, (60, len(robot))).astype(np.float32)
    return states


def _time(policy: Policy, states: np.ndarray, goal: np.ndarray, query: Any, memory: Any) -> float:
    start = time.perf_counter()
    for state in states:
        policy.act(state, goal, query, memory=memory)
    return time.perf_counter() - start
