"""`goalsets tasks`: list, show and check tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from goalsets.cli.printing import print_table
from goalsets.core import GoalsetsError, StateLayout, print_indices

if TYPE_CHECKING:
    from goalsets.envs.tasks import Task


def tasks(name: Annotated[str, tyro.conf.Positional] = "all") -> None:
    """List the tasks: dimension, groups, steps of an episode, data, and the official question.

    The column 'data' says whether the data is 'ready' to train on. If not, it names the next step:
    'import' a file that exists, or 'download' it, both with 'goalsets data import'; or 'collect' it
    with 'goalsets data collect'. 'goalsets tasks show NAME' shows one task, and draws it with
    '--picture FILE'. 'goalsets tasks check NAME' tests whether a task is defined correctly.

    Args:
        name: Show this task instead of the list.
    """
    from goalsets.envs.tasks import TASKS

    if name != "all":
        show(name)
        return
    print_table(
        ("task", "dimension", "groups", "steps", "data", "official query"),
        [
            (
                name,
                str(task.layout.dim),
                str(len(task.layout.groups)),
                str(task.horizon),
                data_at_hand(task),
                _shortened(task),
            )
            for name, task in TASKS.items()
        ],
    )
    print("'goalsets tasks show NAME' shows the layout of a task and the questions it takes.")


def show(name: Annotated[str, tyro.conf.Positional], picture: Path | None = None) -> None:
    """Show a task: its groups with their units and tolerances, and the questions one can ask.

    Args:
        name: A task, such as cube-single-noisy-v0.
        picture: Also draw the start of an episode into this file, a .png or .jpg.
    """
    from goalsets.envs.tasks import TASKS

    task = TASKS[name]
    if picture is not None and picture.suffix not in (".png", ".jpg", ".jpeg"):
        raise GoalsetsError(f"a picture's name should end in .png or .jpg, got {picture}.")
    print(f"{task.name}: environment {task.env_id}, {task.horizon} steps an episode")
    print(f"H_max {task.relabel_horizon}; data: {data_at_hand(task)}")
    print(f"official goals: {', '.join(task.goals)}")
    _show_layout(task.layout)
    _show_objects(task.layout)
    _show_questions(task.layout)
    if picture is not None:
        _draw(task, picture)


def check(name: Annotated[str, tyro.conf.Positional]) -> None:
    """Check that a task is defined correctly: print what is missing, wrong, or not supported.

    The check starts an episode for every official goal, takes random actions, and compares the
    environment's success with the official query. It takes seconds.

    Args:
        name: A task, such as cube-single-noisy-v0.
    """
    from goalsets.envs.check import inspect_task
    from goalsets.envs.tasks import TASKS

    report = inspect_task(TASKS[name])
    for text in report.remarks:
        print(f"remark: {text}")
    if report.findings:
        listed = "\n".join(f"  {text}" for text in report.findings)
        raise GoalsetsError(f"{name} does not fit:\n{listed}")
    print(f"{name} fits: nothing is missing, and nothing is wrong.")


def data_at_hand(task: Task) -> str:
    """One word on the data of a task.

    `ready`: there is a store, or training generates the data in seconds. `import`: there is a file
    to import. `collect`, `download`: there is no file yet, but a way to get one. `none`: no way.
    """
    from goalsets.collect import can_collect
    from goalsets.collect.run import Collection
    from goalsets.data.paths import data_dir
    from goalsets.data.store import INDEX

    if task.script is not None or (data_dir() / task.name / INDEX).exists():
        return "ready"
    if Collection.at(data_dir(), task.name).train.exists():
        return "import"
    if can_collect(task.name):
        return "collect"
    return "download" if task.published else "none"


def _shortened(task: Task) -> str:
    """The official query; a long one is given by its first and last term and their number."""
    names = [term.name for term in task.query.terms]
    if len(names) <= 5:
        return str(task.layout.task)
    return f"{names[0]} to {names[-1]}, {len(names)} of them"


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


def _show_objects(layout: StateLayout) -> None:
    """Print the objects, and which groups are relative to which."""
    from goalsets.core.objects import families

    for family in families(layout):
        names = ", ".join(family.names)
        if len(family.names) > 5:
            names = f"{family.names[0]} to {family.names[-1]}, {len(family.names)} of them"
        print(f"Objects: {names}; each has {', '.join(family.kinds)}.")
    relations = {
        f"{group.kind or group.name} to {group.relative_to}": None
        for group in layout.groups
        if group.relative_to
    }
    if relations:
        print(f"Relative: {', '.join(relations)}.")


def _show_questions(layout: StateLayout) -> None:
    print("Questions: any group, any of these names, and what '&', '-' and ':' make of them.")
    for alias, text in {"task": layout.task, **layout.aliases}.items():
        print(f"  {alias} = {text}")
    print("  all = every coordinate")


def _draw(task: Task, path: Path) -> None:
    from matplotlib.image import imsave

    from goalsets.envs.picture import draw

    image = draw(task)
    try:
        imsave(path, image)
    except OSError as error:
        raise GoalsetsError(f"cannot write the picture {path}: {error.strerror}.") from None
    print(f"drew {path}")
