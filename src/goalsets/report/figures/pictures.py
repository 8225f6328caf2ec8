"""A row of pictures: the tasks that the runs are of."""

from __future__ import annotations

import warnings
from collections.abc import Callable

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
    tasks = results.tasks
    for number, task in enumerate(tasks, start=1):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # environments have much to say when they are made
                pictures[task] = draw(TASKS[task], _SIZE)
        except GoalsetsError as error:
            notes.append(Note(task, f"not in the pictures: {error}"))
        watch(number, len(tasks))
    if not pictures:
        return None
    columns = min(_COLUMNS, len(pictures))
    rows = -(-len(pictures) // columns)
    figure = Figure(figsize=(2.2 * columns, 2.5 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.axis("off")
    for axis, (task, picture) in zip(axes, pictures.items(), strict=False):
        axis.imshow(picture)
        axis.set_title(short_task(task), fontsize=8.5)
    return Drawing(
        "tasks",
        "The tasks",
        "The first official start of every task that has runs here, with the environment's own "
        "mark of its goal. No policy is at work in these pictures.",
        figure,
        vector=False,
    )
