"""The distance diagnostic: distances that runs predict along a rollout or a recorded episode.

This is the paper's qualitative figure. Along a rollout that solves the official task, the distance
to the full state stays large although the task is done. The distance to the goal set falls.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query
from goalsets.core.acting import Policy
from goalsets.data.store import Store
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.official import official_specs
from goalsets.evaluate.rollout import EpisodeSpec, run_episode
from goalsets.runs.run import Run, RunError
from goalsets.runs.weights import Progress

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Rollout:
    """A rollout that reached its goal, and the run that made it."""

    by: Path
    task_id: int
    seed: int
    observations: Floats
    """`[T + 1, D]`."""
    goal: Floats
    name: str = ""
    """Its name; by default made from its task and seed."""

    @property
    def title(self) -> str:
        """Its title in a picture."""
        return self.name or f"one rollout of task {self.task_id}, seed {self.seed}"

    @property
    def digest(self) -> str:
        """Digest of the states and the goal; equal rollouts can be drawn in one picture."""
        content = np.ascontiguousarray(self.observations, dtype=np.float32).tobytes()
        content += np.ascontiguousarray(self.goal, dtype=np.float32).tobytes()
        return hashlib.blake2b(content, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Curve:
    """The distances that one run predicts under one query."""

    label: str
    distances: Floats
    """`[T + 1]`."""
    run: Run
    progress: Progress
    """The step of the weights."""
    query: str | None
    """None for a run that takes no query."""


def successful_rollout(
    runs: Sequence[Run], *, task_id: int | None = None, attempts: int = 10
) -> Rollout:
    """Run official episodes until one succeeds, with each run in turn.

    Args:
        runs: Runs of one task, in the order in which they are tried.
        task_id: The official task; by default any.
        attempts: Episodes to try with each run.
    """
    task = common_task(runs)
    world = TASKS[task].open()
    starts = _starts(task, task_id, attempts)
    for run in runs:
        policy = run.load()[0]
        for spec in starts:
            result = run_episode(world, policy, spec)
            if result.success:
                assert result.trace is not None
                seen, goal = result.trace["observations"], result.trace["goal"]
                return Rollout(run.path, spec.task_id, spec.seed, seen, goal)
    raise GoalsetsError(
        f"no rollout succeeded: {len(starts)} episodes with each of {len(runs)} runs were tried. "
        "Train longer, or allow more --attempts."
    )


def recorded_rollout(store: Store, episode: int) -> Rollout:
    """A recorded episode as a rollout, with its last state as the goal.

    Args:
        store: The data: its held-out episodes, or the training episodes if none were held out.
        episode: The number of the episode, from 0 on.
    """
    held_out = store.validation.num_transitions > 0
    data = store.validation if held_out else store.train
    if not 0 <= episode < data.num_episodes:
        raise GoalsetsError(
            f"{store.path} has {data.num_episodes:,} such episodes, counted from 0: {episode}."
        )
    seen = np.asarray(data.episode(episode).observations, np.float32)
    kind = "held-out" if held_out else "training"
    return Rollout(store.path, 0, episode, seen, seen[-1], f"{kind} episode {episode}")


def common_task(runs: Sequence[Run]) -> str:
    """The task of all runs; an error if there are several."""
    tasks = sorted({run.config.task for run in runs})
    if len(tasks) != 1:
        raise GoalsetsError(f"expected runs of one task, got {', '.join(tasks) or 'no runs'}.")
    if tasks[0] not in TASKS:
        raise GoalsetsError(
            f"the runs are of {tasks[0]!r}, which has no environment to run. 'goalsets check RUN' "
            "compares their distances with recorded episodes."
        )
    return tasks[0]


def predict_along(
    runs: Sequence[Run], rollout: Rollout, queries: Sequence[str] = (), *, official: bool = True
) -> list[Curve]:
    """Predicted distances along a rollout: each run under the official query, then under others.

    Without an official query, only the other queries are used; without these, the full state.
    HER-Full and HER-Task take no query, so each has one curve.
    """
    curves: list[Curve] = []
    for run, name in zip(runs, _names(runs), strict=True):
        policy, progress = run.load()
        asked = ["task", *queries] if official else [*queries] or ["all"]
        hears = policy.learner.conditioner.hears_queries
        if not hears:
            asked = asked[:1]
        for text in asked:
            label = name if len(asked) == 1 else f"{name}: {_shown(text, policy)}"
            query = Query.parse(text, policy.layout)
            found = policy.distance(rollout.observations, rollout.goal, query)
            shown = _shown(text, policy) if hears else None
            curves.append(Curve(label, np.asarray(found), run, progress, shown))
    return curves


def record_curves(curves: Sequence[Curve], rollout: Rollout) -> list[str]:
    """Append its predictions to the records of each run; return the reasons where that fails.

    A report draws these records. The rollout's digest tells which of them belong together.
    """
    refused: list[str] = []
    names = {
        curve.run.path: f"{curve.run.config.learner} {curve.run.config.scheme}, "
        f"seed {curve.run.config.seed}"
        for curve in curves
    }
    for path in names:
        own = [curve for curve in curves if curve.run.path == path]
        record = {
            "kind": "distance",
            "task": own[0].run.config.task,
            **own[0].progress.record(),
            "rollout": {
                "digest": rollout.digest,
                "task_id": rollout.task_id,
                "seed": rollout.seed,
                "steps": len(rollout.observations) - 1,
                "by": names.get(rollout.by, rollout.by.name),
            },
            "curves": [
                {"query": c.query, "distances": [round(float(d), 4) for d in c.distances]}
                for c in own
            ],
        }
        try:
            own[0].run.add_evaluation(record)
        except RunError as error:
            refused.append(str(error))
    return refused


def write_curves(curves: Sequence[Curve], path: Path) -> None:
    """Write a CSV table with a row for each step and a column for each curve."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["step", *(curve.label for curve in curves)])
        columns = [curve.distances for curve in curves]
        for step, row in enumerate(zip(*columns, strict=True)):
            writer.writerow([step, *(f"{value:.4f}" for value in row)])


def draw_curves(curves: Sequence[Curve], rollout: Rollout, unit: str, path: Path) -> None:
    """Draw the curves over the steps of the rollout."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axis = figure.subplots()
    for curve in curves:
        axis.plot(curve.distances, label=curve.label)
    axis.set_title(rollout.title, fontsize=10)
    frame_curves(axis, len(rollout.observations) - 1, unit)
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=120)


def frame_curves(axis: Any, steps: int, unit: str) -> None:  # noqa: ANN401 - matplotlib's
    """Label the axes; if the unit is steps, also draw the remaining steps."""
    if unit == "steps":
        left = np.arange(steps + 1)[::-1]
        axis.plot(left, color="grey", linestyle=":", linewidth=1.0, label="remaining steps")
    axis.set_xlabel("step")
    axis.set_ylabel(f"predicted distance ({unit})")


def _starts(task: str, task_id: int | None, attempts: int) -> list[EpisodeSpec]:
    known = TASKS[task].goal_numbers
    if task_id is not None and task_id not in known:
        raise GoalsetsError(f"task ids are 1 to {len(known)}, got {task_id}.")
    if attempts < 1:
        raise GoalsetsError(f"attempts must be 1 or more, got {attempts}.")
    specs = official_specs(task, attempts)
    if task_id is not None:
        specs = [spec for spec in specs if spec.task_id == task_id]
    # Alternate between the tasks, because some are easier than others.
    specs.sort(key=lambda spec: (spec.seed % 1_000, spec.task_id))
    return [EpisodeSpec(s.task, s.task_id, s.seed, trace=True) for s in specs[:attempts]]


def _names(runs: Sequence[Run]) -> list[str]:
    """Names of runs: learner and scheme, and the directory if that is ambiguous."""
    names = [f"{run.config.learner} {run.config.scheme}" for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({run.path.name})"
        for name, run in zip(names, runs, strict=True)
    ]


def _shown(text: str, policy: Policy) -> str:
    return str(Query.parse(text, policy.layout)) if text == "task" else text
