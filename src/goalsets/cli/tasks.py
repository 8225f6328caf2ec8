"""`goalsets tasks`: what there is to train on and to ask about."""

from __future__ import annotations

from typing import Annotated

import tyro

from goalsets.cli.tables import print_table
from goalsets.core import StateLayout, print_indices


def tasks(name: Annotated[str, tyro.conf.Positional] = "all") -> None:
    """List the tasks, or show the layout of one: its groups, units, tolerances and aliases.

    Args:
        name: A task, such as cube-single-noisy-v0.
    """
    from goalsets.envs.tasks import TASKS

    if name != "all":
        task = TASKS[name]
        print(f"{task.name}: environment {task.env_id}, {task.horizon} steps an episode")
        _show_layout(task.layout)
        return
    print_table(
        ("task", "dimension", "groups", "steps", "official query"),
        [
            (
                name,
                str(task.layout.dim),
                str(len(task.layout.groups)),
                str(task.horizon),
                str(task.layout.task),
            )
            for name, task in TASKS.items()
        ],
    )
    print("'goalsets tasks NAME' shows the layout of a task.")


def _show_layout(layout: StateLayout) -> None:
    print_table(
        ("group", "coordinates", "metric", "unit", "tolerance", "description"),
        [
            (
                group.name,
                print_indices(group.indices),
                group.metric,
                group.unit if group.scale == 1 else f"{group.unit} x {group.scale:g}",
                "" if group.tolerance is None else f"{group.tolerance:.4g}",
                group.description,
            )
            for group in layout.groups
        ],
    )
    for alias, text in {**layout.aliases, "task": layout.task}.items():
        print(f"  {alias} = {text}")
