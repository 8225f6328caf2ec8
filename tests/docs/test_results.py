"""What `make results` trains can be read, and its parts share a directory and their runs."""

from __future__ import annotations

from pathlib import Path

from goalsets.sweep import read_sweep

SWEEPS = sorted(Path("results/sweeps").glob("*.yaml"))


def test_parts_are_of_one_name() -> None:
    # A directory belongs to one sweep: under other names, the second part would be refused.
    assert {read_sweep(file).name for file in SWEEPS} == {"results"}


def test_the_papers_tasks_are_all_there() -> None:
    jobs = [job.config for file in SWEEPS for job in read_sweep(file).jobs()]
    by_task: dict[str, set[str]] = {}
    for config in jobs:
        by_task.setdefault(config.task, set()).add(config.scheme)
    assert len(by_task) == 8
    assert all({"her-full", "her-task", "gs-blockwise"} <= schemes for schemes in by_task.values())
