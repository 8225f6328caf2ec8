"""Checks a task: sentences about what is missing or wrong, and about what it cannot do.

It is like Gymnasium's `check_env`, for what goalsets needs in addition. A finding is an error; a
remark says which feature will not be available.
"""

from __future__ import annotations

from goalsets.core import GoalsetsError
from goalsets.envs.adapter import Adapter
from goalsets.envs.findings import Report
from goalsets.envs.inspection import Inspection
from goalsets.envs.task import Task


class TaskError(GoalsetsError):
    """A task has errors; the message lists all of them."""


def check_task(task: Task) -> list[str]:
    """Check a task: raise one error with all findings; without findings, return the remarks.

    It makes the environment, starts every official goal, and runs an episode of random actions.
    That takes seconds.

    Args:
        task: The task; it need not be registered.
    """
    report = inspect_task(task)
    if report.findings:
        listed = "\n".join(f"  - {text}" for text in report.findings)
        raise TaskError(f"the task {task.name} has errors:\n{listed}")
    return report.remarks


def inspect_task(task: Task, *, seed: int = 0) -> Report:
    """Check a task and report everything; the seed decides which states are visited."""
    task.require_libraries()
    report = Report(task.name)
    judged = _check_description(task, report)
    worlds: list[Adapter] = []
    with report.trying("making the environment"):
        # The drawn environment comes first: it chooses the back end before MuJoCo is imported.
        drawn = task.open(render=True)
        worlds += [task.open(), drawn]
    if len(worlds) == 2:
        with report.trying("checking the environment"):
            Inspection(report, *worlds, seed=seed, judged=judged).run()
    for world in worlds:
        with report.trying("close()"):
            world.close()
    return report


def _check_description(task: Task, report: Report) -> bool:
    """Check what needs no environment; return whether the official query can judge states."""
    if not task.goals or not all(task.goals) or len(set(task.goals)) != len(task.goals):
        report.find(f"goals must be one or more different names, got {task.goals!r}.")
    for name in ("horizon", "relabel_horizon"):
        if getattr(task, name) < 1:
            report.find(f"{name} must be 1 or more steps, got {getattr(task, name)}.")
    loose = [i for i, owner in enumerate(task.layout.owners) if owner is None]
    if loose:
        report.remark(f"{len(loose)} coordinates have no name: queries name them by number.")
    if task.layout.task is None:
        report.find("there is no official query: set it with StateLayout(..., task='some_group').")
        return False
    unknown = [term.name for term in task.query.terms if term.tolerance is None]
    if unknown:
        report.find(
            f"the official query '{task.layout.task}' cannot judge: {', '.join(unknown)} has no "
            "tolerance. Give its group one, or write it into the query, as in 'cube_pos:4cm'."
        )
    return not unknown
