"""Chains of questions: making a plan, and following it beside acting alone.

On the tabletop with two blocks, whose data is made in seconds. The plan is the one for a swap.
Acting is that of GCBC with relational inputs, untrained: its weights do not change the time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.line import Line
from goalsets import GoalSet
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
    planner.plan(state, goals)  # what is worked out once for a question
    seconds = [_time(lambda: planner.plan(state, goals), 1) for _ in range(20)]
    yield Line("plan for a swap of two blocks", 1e3 * statistics.median(seconds), "ms", 100, True)
    policy = _policy(data)
    planned = PlanningPolicy(policy, planner)
    memory, mask = planned.reset(), task.query.mask
    planned.act(state, goal, task.query, memory=memory)
    alone, chained = [], []
    for _ in range(30):  # by turns, so that both see the same machine
        alone.append(_time(lambda: policy.act(state, goal, mask), 100))
        memory[0][1].waited = 1
        chained.append(_time(lambda: planned.act(state, goal, task.query, memory=memory), 60))
    share = statistics.median(chained) / statistics.median(alone) - 1
    yield Line("following a plan, beside acting alone", 100 * share, "% more", 10, True)


def _policy(data: Trajectories) -> TrainedPolicy:
    config = resolve(TASK, scheme="gs-direct", overrides={"hidden": 256})
    normaliser = Normaliser.fit(data)
    bounds = Bounds.plus_minus_one(data.actions.shape[1])
    frame = Frame(TASKS[TASK].layout, normaliser, 60, bounds)
    return TrainedPolicy(make_learner(config, frame), frame.layout, normaliser, bounds)


def _time(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
