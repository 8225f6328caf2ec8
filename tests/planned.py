"""A small run on two blocks with a planner: the swap has a plan of three steps, the stack none."""

from __future__ import annotations

from pathlib import Path

from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play
from goalsets.envs.tasks import TASKS
from goalsets.plan import Planner, write_planner
from goalsets.plan.planner_file import PLANNER
from goalsets.runs.run import Run
from tests.evaluate.conftest import make_run

TASK = TASKS["tabletop-double-v0"]
SWAP, STACK = 4, 5


def planned_run(path: Path, name: str = "double") -> Run:
    """A run, its planner, and beside it the store that both come from."""
    store = write_store(
        path / TASK.name,
        record_play(200, 100, seed=0, num_blocks=2).episodes(),
        record_play(5, 100, seed=1, num_blocks=2).episodes(),
        layout=TASK.layout,
    )
    small = {"hidden": 32, "steps": 6, "batch_size": 16}
    run = make_run(path / name, store, task=TASK.name, learner="gcdl", **small)
    train = store.train
    write_planner(Planner.learn(TASK.layout, train.observations, train.offsets), run.path / PLANNER)
    return run
