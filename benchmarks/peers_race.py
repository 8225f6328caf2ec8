"""One contestant's run in `benchmarks.peers`: the clock, the judge, the record.

The clock counts the processor time of a contestant's preparation (normalisation, tables, planner,
compilation) and of its gradient steps. It stands still while programs and data are loaded and while
the policy is judged. All contestants are judged by the same rollout on the same episodes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from goalsets.campaign.peers import LEVELS
from goalsets.core.acting import Policy
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.official import official_specs
from goalsets.evaluate.rollout import run_episode
from goalsets.evaluate.stats import Rate

AT_ONCE, BY_CHAIN = "at once", "by a chain"
_FIRST, _GROWTH = 5.0, 1.25
"""Seconds until the first evaluation, and the factor to each next one: a time to a level is known
to a quarter of itself, and a long run needs few evaluations."""


class Contestant(Protocol):
    """Something that learns a task. Its data is in memory when it is made."""

    def prepare(self) -> None:
        """Do all that comes before the first step. It counts as training time."""
        ...

    def step(self) -> bool:
        """Take a gradient step and wait for it; False after the last step of its schedule."""
        ...

    def policies(self) -> Mapping[str, Policy]:
        """Its policies, by the way in which they are asked."""
        ...


Judge = Callable[[Policy], dict[str, Any]]


class OfficialJudge:
    """Runs the official episodes in one world."""

    def __init__(self, task: str, episodes: int) -> None:
        self.specs = official_specs(task, episodes)
        self._world = TASKS[task].open()

    def __call__(self, policy: Policy) -> dict[str, Any]:
        done = [(spec, run_episode(self._world, policy, spec)) for spec in self.specs]
        goals: dict[int, list[bool]] = {}
        for spec, result in done:
            goals.setdefault(spec.task_id, []).append(result.success)
        rate = Rate.of([result.success for _, result in done])
        by_goal = {str(goal): Rate.of(each).value for goal, each in goals.items()}
        return {"success": rate.value, "num_episodes": rate.episodes, "by_goal": by_goal}


def marks(budget: float) -> Iterator[float]:
    """The seconds at which a contestant is judged; the last mark is its budget."""
    mark = _FIRST
    while mark * _GROWTH**0.5 < budget:  # one shortly before the last would say nothing new
        yield mark
        mark *= _GROWTH
    yield budget


@dataclass
class Race:
    """A run of a contestant up to its budget, its last step, or the highest level.

    Args:
        contestant: Who learns.
        judge: Judges a policy.
        budget: Processor seconds of preparation and training.
        say: Called with a line for each evaluation.
        clock: Processor seconds.
    """

    contestant: Contestant
    judge: Judge
    budget: float
    say: Callable[[str], None] = print
    clock: Callable[[], float] = time.process_time
    spent: float = 0.0
    steps: int = 0

    def run(self) -> dict[str, Any]:
        """Train and judge in turn; return the curve and how it ended."""
        began = time.perf_counter()
        start = self.clock()
        self.contestant.prepare()
        self.spent = prepared = self.clock() - start
        curve: list[dict[str, Any]] = []
        ended = "budget"
        for mark in marks(self.budget):
            more = True
            if mark > self.spent or (mark == self.budget and not curve):
                more = self._train(mark)
                curve.append(self._judged())
            if self._reached_all(curve):
                ended = "highest level"
            elif not more:
                ended = "last step"
            if ended != "budget":
                break
        return {
            "prepared_seconds": round(prepared, 2),
            "curve": curve,
            "ended": ended,
            "wall_seconds": round(time.perf_counter() - began, 1),
        }

    def _train(self, mark: float) -> bool:
        """Take steps until a mark; return whether there are more steps."""
        start, more = self.clock(), True
        while more and self.spent + self.clock() - start < mark:
            more = self.contestant.step()
            self.steps += more
        self.spent += self.clock() - start
        return more

    def _judged(self) -> dict[str, Any]:
        found = {way: self.judge(policy) for way, policy in self.contestant.policies().items()}
        told = ", ".join(f"{100 * each['success']:.0f} % {way}" for way, each in found.items())
        self.say(f"  after {self.spent / 60:6.1f} minutes and {self.steps:,} steps: {told}")
        return {"seconds": round(self.spent, 2), "step": self.steps, "asked": found}

    def _reached_all(self, curve: Sequence[Mapping[str, Any]]) -> bool:
        """Whether every way of asking has reached the highest level."""
        ways = curve[-1]["asked"] if curve else ()
        return bool(ways) and all(
            any(each["asked"][way]["success"] >= LEVELS[-1] for each in curve) for way in ways
        )


def add_record(file: Path, record: Mapping[str, Any]) -> None:
    """Append a line in one write, because two processes may measure side by side."""
    file.parent.mkdir(parents=True, exist_ok=True)
    place = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(place, (json.dumps(record) + "\n").encode())
    finally:
        os.close(place)
