"""Rollouts: whole episodes in parallel processes.

The specification determines an episode: task, start, goal and question. Which process runs it, and
in which order, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, Query
from goalsets.crew import Crew
from goalsets.envs.adapter import Adapter, Start, Stepped
from goalsets.envs.tasks import TASKS
from goalsets.workers import available_cores, silence

if TYPE_CHECKING:
    from goalsets.core.acting import Policy

Floats = NDArray[np.float32]

_ACTING = 7
"""Separates the random draws of a policy in an episode from those of its environment."""


class World(Protocol):
    """What an episode is run in: an adapter, or a camera around one."""

    def start(self, goal: int, seed: int) -> Start:
        """Start an episode."""
        ...

    def step(self, action: Floats) -> Stepped:
        """Do one step."""
        ...


@dataclass(frozen=True)
class EpisodeSpec:
    """One episode, completely."""

    task: str
    """The task of the environment."""
    task_id: int
    """The official goal that it starts from, counted from 1."""
    seed: int
    """The seed of the start within the official task, and of all random draws after."""
    query: str = "task"
    """What the policy is asked."""
    goal: tuple[float, ...] | None = None
    """The reference state. None asks for the official goal, which the environment judges."""
    trace: bool = False
    """Whether to return observations and actions of every step."""

    def __str__(self) -> str:
        """The episode in words."""
        return f"episode of task {self.task_id}, seed {self.seed}, query '{self.query}'"


@dataclass(frozen=True)
class EpisodeResult:
    """How an episode went."""

    success: bool
    """Whether the goal set was reached at any step."""
    steps: int
    """Steps until success, or of the whole episode."""
    trace: dict[str, NDArray[Any]] | None = field(default=None, compare=False)
    """`observations [T+1, D]`, `actions [T, A]`, `goal [D]`, if requested."""


def roll_out(
    run: Path,
    step: int | None,
    specs: Sequence[EpisodeSpec],
    *,
    plan: bool = False,
    workers: int | None = None,
    say: Callable[[str], None] = silence,
) -> Generator[tuple[EpisodeSpec, EpisodeResult], None, None]:
    """Run episodes with a run's policy, and yield them as they are finished.

    Args:
        run: The run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
        specs: The episodes, each only once.
        plan: Ask chains of questions, with the run's planner.
        workers: Processes; by default one for each processor.
        say: Called with a note if a worker died; its episode is run again.
    """
    for task in {spec.task for spec in specs}:
        TASKS[task].require_libraries()
    count = min(workers or available_cores(), max(1, len(specs)))
    crew = Crew(make_runner, (run, step, plan), count, say, "run")
    return crew.answer(specs)


def make_runner(
    run: Path, step: int | None, plan: bool = False
) -> Callable[[EpisodeSpec], EpisodeResult]:
    """Load a policy in this process, with one thread; return a function that runs episodes."""
    import torch

    from goalsets.runs.run import load

    torch.set_num_threads(1)
    trained = load(run, step)
    policy = trained.planning() if plan else trained
    worlds: dict[str, Adapter] = {}

    def run_one(spec: EpisodeSpec) -> EpisodeResult:
        if spec.task not in worlds:
            worlds[spec.task] = TASKS[spec.task].open()
        return run_episode(worlds[spec.task], policy, spec)

    return run_one


def run_episode(world: World, policy: Policy, spec: EpisodeSpec) -> EpisodeResult:
    """Run one episode.

    If the specification has a goal, the episode lasts until the goal set contains the state, or for
    the task's horizon. The environment's success and termination are ignored. For an official goal
    the environment judges success; if it does not report success, the task's goal set judges.

    Args:
        world: The world to run it in.
        policy: The policy. It gets observations, the goal and the query, and nothing else.
        spec: The episode.
    """
    task = TASKS[spec.task]
    first, official = world.start(spec.task_id, spec.seed)
    own = spec.goal is not None
    goal = np.asarray(spec.goal, dtype=np.float32) if own else official
    query = Query.parse(spec.query, policy.layout)
    judge = GoalSet(goal, query) if own else None
    memory, rng = policy.reset(), np.random.default_rng((spec.seed, _ACTING))
    seen, done = [first], list[Floats]()
    success = judge is not None and bool(judge.contains(seen[0]))
    while not success and len(done) < task.horizon:
        action = policy.act(seen[-1], goal, query, rng=rng, memory=memory)
        observation, told, over = world.step(action)
        seen.append(observation)
        done.append(action)
        if judge is not None:
            success = bool(judge.contains(seen[-1]))
        else:
            if told is None:
                told = bool(GoalSet(official, task.query).contains(seen[-1]))
            success = told
            if over:
                break
    trace = None
    if spec.trace:
        actions = np.stack(done) if done else np.zeros((0, 0), dtype=np.float32)
        trace = {"observations": np.stack(seen), "actions": actions, "goal": goal}
    return EpisodeResult(success, len(done), trace)
