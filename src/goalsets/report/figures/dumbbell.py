"""The dumbbell: official success from HER-Full to GS-HER, with the tick of HER-Task."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from goalsets.envs.tasks import TASKS, Task
from goalsets.relabel.queries import DEFAULT_SCHEME
from goalsets.report import budget
from goalsets.report.figures.drawing import BETTER, WORSE, Drawing, mark, place_legend, short_task
from goalsets.report.published import FULL_STATE, ORACLE
from goalsets.report.results import Cell, Results
from goalsets.report.tables import points

_GAP = 0.7
"""The gap between domains, in rows."""


def draw_dumbbell(results: Results, scheme: str) -> Drawing | None:
    """Draw it for one GS-HER scheme; None if no run has a score."""
    from matplotlib.figure import Figure

    if not results.cells:
        return None
    places, heads = _places(results.tasks)
    bottom = max(places.values())
    learners = results.learners
    figure = Figure(
        figsize=(2.9 + 1.75 * len(learners), 1.7 + 0.36 * (bottom + 1)), layout="constrained"
    )
    axes = figure.subplots(1, len(learners), sharey=True, squeeze=False)[0]
    for axis, learner in zip(axes, learners, strict=True):
        gains = [
            gain
            for task, place in places.items()
            if (gain := _draw_row(axis, results, (task, learner, scheme), place)) is not None
        ]
        tasks = "1 task" if len(gains) == 1 else f"{len(gains)} tasks"
        mean = f"mean Δ {points(statistics.fmean(gains))}, {tasks}" if gains else "no Δ"
        axis.set_title(f"{learner}\n{mean}")
        axis.set_xlim(-6, 106)
        axis.set_xticks([0, 50, 100])
        axis.grid(axis="x")
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
    axes[0].set_yticks(list(places.values()), [short_task(task) for task in places])
    axes[0].set_ylim(bottom + 0.6, min(heads.values()) - 0.55)
    for domain, place in heads.items():
        axes[0].text(
            0.0, place, domain, fontweight="bold", ha="right", va="center",
            transform=axes[0].get_yaxis_transform(),
        )  # fmt: skip
    figure.supxlabel("official success, %", fontsize=9.5)
    _legend(figure, scheme)
    drawn = [c for s in (FULL_STATE, ORACLE, scheme) for c in _cells(results, s)]
    return Drawing(
        "dumbbell",
        "From full states to goal sets",
        (
            f"Official success of her-full (circle) and {scheme} (star); the tick is her-task, "
            "which is trained for the official question alone. Blue segments are gains, orange "
            "dashed ones losses; Δ is their mean in points, over the tasks that have both. Thin "
            "lines are 95 % intervals, of her-full above and of the other below: the wider of "
            "that over seeds (bootstrap) and that over episodes (Wilson). "
            "“missing” says that a run is not there. " + budget.scores(drawn)
        ),
        figure,
    )


def _cells(results: Results, scheme: str) -> list[Cell]:
    found = (results.get(t, n, scheme) for t in results.tasks for n in results.learners)
    return [cell for cell in found if cell is not None]


def _draw_row(
    axis: Any,  # noqa: ANN401 - matplotlib's
    results: Results,
    key: tuple[str, str, str],
    place: float,
) -> float | None:
    """Draw one task of one learner, and return the gain if there is one."""
    task, learner, scheme = key
    full, oracle, ours = (results.get(task, learner, s) for s in (FULL_STATE, ORACLE, scheme))
    if full is None and oracle is None and ours is None:
        axis.text(50, place, "missing", color="#767676", ha="center", va="center", fontsize=8)
        return None
    if oracle is not None:
        axis.plot(
            [oracle.mean] * 2, [place - 0.34, place + 0.34], color="black", linestyle=(0, (2, 1)),
            linewidth=1.6, zorder=2,
        )  # fmt: skip
    gain = None
    if full is not None and ours is not None:
        gain = ours.mean - full.mean
        axis.plot(
            [full.mean, ours.mean], [place, place], color=BETTER if gain >= 0 else WORSE,
            linewidth=2.4, linestyle="-" if gain >= 0 else (0, (2, 1)), zorder=1,
            solid_capstyle="butt",
        )  # fmt: skip
    for cell, size in ((full, 34), (ours, 90)):
        if cell is not None:
            look = mark(cell.scheme if cell is full else DEFAULT_SCHEME)
            colour = look.colour if cell is full else "black"
            axis.scatter(cell.mean, place, s=size, marker=look.marker, color=colour, zorder=3)
            beside = place + (-0.22 if cell is full else 0.22)
            axis.plot(cell.interval, [beside, beside], color=colour, linewidth=1, zorder=2)
    if full is None or ours is None:
        lacking = f"{FULL_STATE if full is None else scheme}\nmissing"
        drawn = [cell.interval for cell in (full, ours) if cell is not None]
        if oracle is not None:
            drawn.append((oracle.mean, oracle.mean))
        free = widest_gap(drawn)
        axis.text(free, place, lacking, color="#767676", ha="center", va="center", fontsize=7)
    return gain


def widest_gap(drawn: Sequence[tuple[float, float]]) -> float:
    """The middle of the widest stretch of the axis on which nothing is drawn."""
    left, widest = 0.0, (0.0, 50.0)
    for low, high in (*sorted(drawn), (100.0, 100.0)):
        widest = max(widest, (low - left, (left + low) / 2))
        left = max(left, high)
    return widest[1]


def _places(tasks: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """Rows of tasks, and of the domains' names above them, from the top down."""
    places: dict[str, float] = {}
    heads: dict[str, float] = {}
    row = 0.0
    for domain in _domains():
        inside = [task for task in tasks if _domain(task) == domain]
        if not inside:
            continue
        heads[domain] = row
        for number, task in enumerate(inside, start=1):
            places[task] = row + number
        row += len(inside) + 1 + _GAP
    return places, heads


def _domains() -> list[str]:
    """All headings in the order of the registry; the one for tasks without a heading is last."""
    found = dict.fromkeys(task.domain for _, task in TASKS.items())
    found.pop(Task.domain, None)
    return [*found, Task.domain]


def _domain(task: str) -> str:
    return TASKS[task].domain if task in TASKS else Task.domain


def _legend(figure: Any, scheme: str) -> None:  # noqa: ANN401 - matplotlib's
    from matplotlib.lines import Line2D

    nothing = {"linestyle": "none", "markersize": 7}
    handles = [
        Line2D([], [], marker="o", color=mark(FULL_STATE).colour, label=FULL_STATE, **nothing),
        Line2D([], [], marker="*", color="black", label=scheme, **{**nothing, "markersize": 10}),
        Line2D([], [], color="black", linestyle=(0, (2, 1)), linewidth=1.6, label=ORACLE),
        Line2D([], [], color=BETTER, linewidth=2.4, label="gain"),
        Line2D([], [], color=WORSE, linewidth=2.4, linestyle=(0, (2, 1)), label="loss"),
    ]
    place_legend(figure, handles, "upper")
