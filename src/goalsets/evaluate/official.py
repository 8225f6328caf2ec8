"""The official evaluation: the goals of the task, judged by the environment itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goalsets.core import GoalsetsError
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.rollout import EpisodeResult, EpisodeSpec, roll_out
from goalsets.evaluate.stats import Rate
from goalsets.runs.run import Run, is_planned, with_plan
from goalsets.workers import silence

FIRST_SEED = 1_000_000
"""First seed of official episodes: far from the seeds of data collection."""


def official_specs(task: str, episodes: int, first_seed: int = FIRST_SEED) -> list[EpisodeSpec]:
    """`episodes` episodes of each official goal, the same for every run of a task."""
    return [
        EpisodeSpec(task, task_id, first_seed + 1_000 * task_id + index)
        for task_id in TASKS[task].goal_numbers
        for index in range(episodes)
    ]


def evaluate_official(
    run: Run,
    step: int | None = None,
    *,
    episodes: int = 10,
    plan: bool = False,
    workers: int | None = None,
    watch: Callable[[int, int, int], None] = silence,
    say: Callable[[str], None] = silence,
) -> dict[str, Any]:
    """Run the official tasks, append the record to the run, and return it.

    Args:
        run: The run.
        step: A step whose weights were kept; the latest checkpoint unless given.
        episodes: Episodes for each of the official goals.
        plan: Ask chains of questions, and mark the record so. If the run has no planner, it is
            learned.
        workers: Processes.
        watch: Called with the episodes done, the number of all, and the successes so far.
        say: Called with a note if a worker died or a planner is learned.
    """
    if run.config.task not in TASKS:
        raise GoalsetsError(
            f"{run.path} was trained on {run.config.task!r}, which has no environment to run. "
            f"'goalsets check {run.path}' judges it by its data."
        )
    if episodes < 1:
        raise GoalsetsError(f"episodes must be 1 or more, got {episodes}.")
    progress = run.load(step)[1]
    planner = run.planner(say=say) if plan else None  # before every worker would learn it
    specs = official_specs(run.config.task, episodes)
    results: dict[EpisodeSpec, EpisodeResult] = {}
    start = time.perf_counter()
    for spec, result in roll_out(run.path, step, specs, plan=plan, workers=workers, say=say):
        results[spec] = result
        watch(len(results), len(specs), sum(r.success for r in results.values()))
    record = _record(run, specs, results) | with_plan(planner)
    record |= {
        **progress.record(),
        "evaluation_seconds": round(time.perf_counter() - start, 2),
    }
    run.add_evaluation(record)
    return record


def last_steps(run: Run, count: int) -> list[int]:
    """The last `count` steps whose weights were kept."""
    if count < 1:
        raise GoalsetsError(f"last must be 1 or more, got {count}.")
    if len(run.steps) < count:
        kept = ", ".join(map(str, run.steps)) or "none"
        raise GoalsetsError(
            f"{run.path} has not kept the weights of {count} steps, only: {kept}. Train with "
            "--keep-every to keep more."
        )
    return run.steps[-count:]


def official_records(run: Run, plan: bool = False) -> list[dict[str, Any]]:
    """A run's official records in order: those of chains of questions, or the others."""
    records = run.evaluations()
    return [r for r in records if r["kind"] == "official" and is_planned(r) == plan]


def recorded(run: Run, step: int, episodes: int, plan: bool = False) -> dict[str, Any] | None:
    """The latest official record of a step, if there is one.

    Args:
        run: The run.
        step: The step.
        episodes: The number of episodes of each goal that the record must have.
        plan: Whether to read the records of chains of questions, or the others.
    """
    task = run.config.task
    goals = len(TASKS[task].goals) if task in TASKS else 0
    found = [
        record
        for record in official_records(run, plan)
        if record["step"] == step and record["num_episodes"] == episodes * goals
    ]
    return found[-1] if found else None


def average(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The paper's number: the mean success of a run's last evaluations.

    They are of one run and on the same episodes, so they are not independent repetitions. Their
    spread shows how much the policy still changes, not how certain the mean is.
    """
    rates = [float(record["success"]) for record in records]
    goals = records[0]["by_goal"]
    return {
        "steps": [record["step"] for record in records],
        "success": statistics.fmean(rates),
        "lowest": min(rates),
        "highest": max(rates),
        "by_goal": {g: statistics.fmean(r["by_goal"][g] for r in records) for g in goals},
    }


def _record(
    run: Run, specs: list[EpisodeSpec], results: dict[EpisodeSpec, EpisodeResult]
) -> dict[str, Any]:
    rate = Rate.of([results[spec].success for spec in specs])
    reached = [results[spec].steps for spec in specs if results[spec].success]
    goals = {
        str(i): Rate.of([results[s].success for s in specs if s.task_id == i]).value
        for i in TASKS[run.config.task].goal_numbers
    }
    return {
        "kind": "official",
        "task": run.config.task,
        "success": rate.value,
        "interval": list(rate.interval),
        "num_episodes": rate.episodes,
        "by_goal": goals,
        "mean_steps_to_success": sum(reached) / len(reached) if reached else None,
        "episodes": [
            {
                "task_id": spec.task_id,
                "seed": spec.seed,
                "success": results[spec].success,
                "steps": results[spec].steps,
            }
            for spec in specs
        ],
    }
