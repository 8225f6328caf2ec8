"""What all sessions of a playground share: the task, the checkpoints, goals and the data.

Nothing here changes while the server runs: policies keep no state between calls, and the poser has
a lock.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goalsets.collect.find import find_store_if_any
from goalsets.core import GoalSet, GoalsetsError
from goalsets.core.acting import Policy
from goalsets.data.store import Store
from goalsets.envs.tasks import TASKS, Task
from goalsets.evaluate.ask import check_task, doubts, support
from goalsets.plan import Planner
from goalsets.play.goal import Shelf
from goalsets.play.poser import Poser
from goalsets.play.question import ReadyMade, ready_made
from goalsets.runs.config import TrainConfig
from goalsets.runs.planning import kept_planner
from goalsets.runs.run import Run

MAX_CHECKPOINTS = 2
_DIGEST = re.compile(r"-[0-9a-f]{8}(?=-s\d+$)")
_BANK_ROWS = 2_000
"""Held-out states to choose from, at most."""


@dataclass(frozen=True)
class Checkpoint:
    """A policy with a name."""

    name: str
    policy: Policy
    config: TrainConfig
    step: int
    planner: Planner | None = None
    """Makes chains of questions; None if the run has no planner."""

    @property
    def unit(self) -> str | None:
        """The unit of its distance; None if it predicts none."""
        return self.policy.distance_unit

    def __str__(self) -> str:
        """Its name, with how it was trained."""
        return f"{self.name}: {self.config.learner} {self.config.scheme}, step {self.step:,}"


@dataclass(frozen=True)
class Support:
    """What the data says about a question, in words."""

    text: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Setup:
    """A task with checkpoints to watch and goals to give them."""

    task: Task
    checkpoints: tuple[Checkpoint, ...]
    shelf: Shelf
    ready: tuple[ReadyMade, ...]
    store: Store | None

    def support(self, goals: GoalSet) -> Support:
        """How much of the data answers a question, with warnings."""
        seen = None
        if self.store is None:
            inside = int(np.sum(goals.contains(self.shelf.bank))) if len(self.shelf.bank) else 0
            text = (
                f"{inside} of the {len(self.shelf.bank):,} held-out states on this machine answer "
                "it; the training data is not here."
            )
        else:
            seen = support(goals, self.store.train)
            text = f"{seen} of the training data answer it."
        warnings = [
            f"{checkpoint.name}: {doubt}" if len(self.checkpoints) > 1 else doubt
            for checkpoint in self.checkpoints
            for doubt in doubts(goals, checkpoint.policy, seen)
        ]
        return Support(text, tuple(dict.fromkeys(warnings)))


def open_setup(
    runs: Sequence[str | Path], *, step: int | None = None, data: Path | None = None
) -> Setup:
    """Open one checkpoint, or two of one task to compare.

    Args:
        runs: Run directories, or names of models that come with goalsets.
        step: A step whose weights were kept; the latest checkpoint unless given.
        data: The store to check questions against; by default the task's own, if it exists.
    """
    if not 1 <= len(runs) <= MAX_CHECKPOINTS:
        raise GoalsetsError(f"expected one run, or two to compare, got {len(runs)}.")
    opened = [Run.open(run) for run in runs]
    first = opened[0]
    check_task(first.config.task)
    _check_comparable(opened)
    task = dataclasses.replace(TASKS[first.config.task], layout=first.frame.layout)
    store = find_store_if_any(task.name, data)
    names = checkpoint_names(opened)
    checkpoints = []
    for run, name in zip(opened, names, strict=True):
        policy, progress = run.load(step)
        planner = kept_planner(run)
        checkpoints.append(Checkpoint(name, policy, run.config, progress.step, planner))
    shelf = Shelf(Poser(task), *_bank(opened, store))
    return Setup(task, tuple(checkpoints), shelf, tuple(ready_made(task)), store)


def _check_comparable(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        ours, theirs = TASKS[first.config.task], run.config.task
        if theirs not in TASKS or TASKS[theirs].env_id != ours.env_id:
            raise GoalsetsError(
                f"two runs must be of one task, but {first.path.name} is of {first.config.task} "
                f"and {run.path.name} of {theirs}."
            )
        if run.frame.layout != first.frame.layout:
            raise GoalsetsError(
                f"two runs must have one layout, but those of {run.path.name} and "
                f"{first.path.name} differ."
            )


def checkpoint_names(runs: Sequence[Run]) -> list[str]:
    """Names of runs: their directories, without a sweep's digest if the names stay different."""
    names = [run.path.name for run in runs]
    for candidates in ([_DIGEST.sub("", name) for name in names], names):
        if len(set(candidates)) == len(candidates):
            return candidates
    return [f"{name} {number}" for number, name in enumerate(names, start=1)]


def _bank(runs: Sequence[Run], store: Store | None) -> tuple[np.ndarray, str]:
    """Held-out states `[N, D]`: those of a shipped model, or some of the validation split."""
    for run in runs:
        shipped = run.bank()
        if shipped is not None:
            return shipped, "held-out states that come with the model"
    dim = runs[0].frame.layout.dim
    if store is None or store.validation.num_states == 0:
        return np.zeros((0, dim), dtype=np.float32), "there are no held-out states"
    states = store.validation.observations
    rows = np.linspace(0, len(states) - 1, min(_BANK_ROWS, len(states))).astype(int)
    chosen = np.asarray(states[rows], dtype=np.float32)
    return chosen, f"of the validation split's {len(states):,} states"
