"""Prices of moves, by the data or by a learner, compared with the steps of held-out moves.

The world is the tabletop with two blocks. As in a plan, a price is computed in the state at the end
of the previous move, for the move of one block that followed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from benchmarks.line import Line
from goalsets.core.acting import Policy
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.data.writer import write_store
from goalsets.envs.tasks import TASKS
from goalsets.plan import Planner
from goalsets.plan.evidence import Evidence
from goalsets.plan.moves import record_moves
from goalsets.runs.presets import resolve
from goalsets.runs.run import load
from goalsets.train.session import Pace, train

TASK = "tabletop-double-v0"
LEARNERS = ("gcdl", "gcivl")

Floats = np.ndarray


def lines() -> Iterator[Line]:
    """Train each learner for a minute, and yield the errors of all prices."""
    task = TASKS[TASK]
    assert task.script is not None
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        store = write_store(
            place / "data",
            task.script.train(),
            task.script.held_out(),
            layout=task.layout,
            source="scripted play",
        )
        train_data = store.train
        planner = Planner.learn(task.layout, train_data.observations, train_data.offsets)
        taken, starts, ends, places = held_out_moves(planner, store.validation)
        yield Line("held-out moves of one block", len(taken), "")
        yield from _errors("the data", _by_data(planner, starts, ends, places), taken)
        for name in LEARNERS:
            policy = _trained(name, store, place / name)
            found = _by_policy(policy, planner, starts, ends, places)
            yield from _errors(name, found, taken)


def held_out_moves(
    planner: Planner, data: Trajectories
) -> tuple[Floats, Floats, Floats, list[int]]:
    """Moves of one part: steps `[N]`, states `[N, D]` before and after, and the part's number."""
    found: list[tuple[float, Floats, Floats, int]] = []
    for first, last in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        states = np.asarray(data.observations[first:last], np.float32)
        moves = record_moves(planner.parts, states, np.array([0, len(states)]))
        for number in range(1, len(moves)):
            moved = np.flatnonzero(moves.changed[number])
            if len(moved) == 1:
                begin = moves.after[number - 1]
                found.append((moves.steps[number], begin, moves.after[number], int(moved[0])))
    steps, starts, ends, places = zip(*found, strict=True)
    return np.array(steps), np.stack(starts), np.stack(ends), list(places)


def _by_data(planner: Planner, starts: Floats, ends: Floats, places: list[int]) -> Floats:
    evidence = Evidence(planner.parts, planner.moves, planner.usual)
    prices = [
        evidence.judge(place, start, end[None]).steps[0]
        for start, end, place in zip(starts, ends, places, strict=True)
    ]
    return np.array(prices)


def _by_policy(
    policy: Policy, planner: Planner, starts: Floats, ends: Floats, places: list[int]
) -> Floats:
    masks = np.zeros(starts.shape, np.bool_)
    for row, place in enumerate(places):
        masks[row, planner.parts[place].columns] = True
    return policy.distance(starts, ends, masks)


def _trained(name: str, store: Store, directory: Path) -> Policy:
    config = resolve(TASK, learner=name, scheme="gs-direct", preset="small")
    run = train(config, store, directory, pace=Pace())
    return load(run.path)


def _errors(name: str, prices: Floats, taken: Floats) -> Iterator[Line]:
    yield Line(f"{name}, mean error of its prices", float(np.abs(prices - taken).mean()), "steps")
    rank = float(spearmanr(prices, taken).statistic)
    yield Line(f"{name}, rank correlation with the steps taken", rank, "")
