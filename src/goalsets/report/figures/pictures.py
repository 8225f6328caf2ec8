"""Pictures of the tasks of the runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from goalsets.core import GoalsetsError
from goalsets.envs.picture import draw
from goalsets.envs.tasks import TASKS
from goalsets.report.figures.drawing import Drawing, short_task
from goalsets.report.reading import Note
from goalsets.report.results import Results
from goalsets.workers import silence

_SIZE = 320
_COLUMNS = 5


def draw_tasks(
    results: Results, notes: list[Note], watch: Callable[[int, int], None] = silence
) -> Drawing | None:
    """Draw each task's first official start; tasks that cannot be drawn are noted."""
    from matplotlib.figure import Figure

    pictures = {}
    worlds = same_worlds(results.tasks)
    for number, tasks in enumerate(worlds, start=1):
        if tasks[0] not in TASKS:  # logs of one's own, or a plugin's task without the plugin
            notes.append(Note(tasks[0], "not in the pictures: it has no environment here"))
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # environments print many warnings when made
                pictures[_title(tasks)] = draw(TASKS[tasks[0]], _SIZE)
        except GoalsetsError as error:
            notes += [Note(task, f"not in the pictures: {error}") for task in tasks]
        watch(number, len(worlds))
    if not pictures:
        return None
    rows = -(-len(pictures) // _COLUMNS)
    columns = -(-len(pictures) // rows)  # rows of about the same length
    figure = Figure(figsize=(2.2 * columns, 2.5 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.axis("off")
    for axis, (title, picture) in zip(axes, pictures.items(), strict=False):
        axis.imshow(picture)
        axis.set_title(title, fontsize=8.5)
    return Drawing(
        "tasks",
        "The tasks",
        "The first official start of every environment that has runs here, with its own mark of "
        "its goal; tasks that differ only in their data, such as play and noisy, share a picture. "
        "No policy is at work in these pictures.",
        figure,
        vector=False,
    )


def same_worlds(tasks: Sequence[str]) -> list[list[str]]:
    """Groups of tasks that share an environment and differ only in their data."""
    found: dict[str, list[str]] = {}
    for task in tasks:
        found.setdefault(TASKS[task].env_id if task in TASKS else task, []).append(task)
    return list(found.values())


def _title(tasks: Sequence[str]) -> str:
    """The name of a task; for several, their common part, and the rest of each."""
    names = [short_task(task).split("-") for task in tasks]
    if len(names) == 1:
        return "-".join(names[0])
    alike = [len(set(words)) == 1 for words in zip(*names, strict=False)]
    count = [*alike, False].index(False)
    own = ", ".join("-".join(name[count:]) for name in names)
    return f"{'-'.join(names[0][:count])}\n{own}"
