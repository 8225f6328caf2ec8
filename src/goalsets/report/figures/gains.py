"""When goal sets help: the gain of GS-HER over that of an oracle projection, one point a task."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from goalsets.report import budget
from goalsets.report.figures.drawing import BETTER, PAPER_COLOUR, Drawing, short_task
from goalsets.report.figures.labels import Label, place_labels
from goalsets.report.published import FULL_STATE, ORACLE, published_scores
from goalsets.report.results import Cell, Results
from goalsets.report.statistics import correlation
from goalsets.report.tables import Entry, Table, points

Lookup = Callable[[str, str, str], float | None]
"""Success by task, learner and scheme, in percent."""


@dataclass(frozen=True)
class Gain:
    """A task's gains over HER-Full in points, averaged over the learners that have all three."""

    task: str
    oracle: float
    """The gain of HER-Task: how much matching the full state costs."""
    ours: float
    learners: Sequence[str]


def gains(tasks: Sequence[str], learners: Sequence[str], scheme: str, get: Lookup) -> list[Gain]:
    """Gains of every task for which a learner has HER-Full, HER-Task and the scheme."""
    found: list[Gain] = []
    for task in tasks:
        oracle: list[float] = []
        ours: list[float] = []
        complete: list[str] = []
        for learner in learners:
            full, project, sets = (get(task, learner, s) for s in (FULL_STATE, ORACLE, scheme))
            if full is not None and project is not None and sets is not None:
                oracle.append(project - full)
                ours.append(sets - full)
                complete.append(learner)
        if complete:
            found.append(Gain(task, statistics.fmean(oracle), statistics.fmean(ours), complete))
    return found


def own_gains(results: Results, scheme: str) -> list[Gain]:
    """The gains of our runs."""

    def get(task: str, learner: str, name: str) -> float | None:
        cell = results.get(task, learner, name)
        return None if cell is None else cell.mean

    return gains(results.tasks, results.learners, scheme, get)


def published_gains(scheme: str) -> list[Gain]:
    """The gains of the paper's table."""
    numbers = published_scores()
    tasks = list(dict.fromkeys(task for _, task, _ in numbers))
    learners = list(dict.fromkeys(learner for learner, _, _ in numbers))

    def get(task: str, learner: str, name: str) -> float | None:
        number = numbers.get((learner, task, name))
        return None if number is None else number.mean

    return gains(tasks, learners, scheme, get)


def gain_table(found: Sequence[Gain], scheme: str) -> Table:
    """The numbers behind the figure."""
    return Table(
        name="gains",
        title="Gains over her-full",
        caption=f"Points gained by her-task and by {scheme}, averaged over learners that have all.",
        columns=["task", ORACLE, scheme, "learners"],
        rows=[
            [
                Entry(gain.task, code=True),
                Entry(points(gain.oracle)),
                Entry(points(gain.ours)),
                Entry(", ".join(gain.learners)),
            ]
            for gain in found
        ],
        records=[
            {
                "task": gain.task,
                "scheme": scheme,
                "oracle_gain": gain.oracle,
                "gain": gain.ours,
                "learners": " ".join(gain.learners),
            }
            for gain in found
        ],
    )


def draw_gains(results: Results, scheme: str) -> Drawing | None:
    """Draw the figure; None if no task has all three schemes."""
    from matplotlib.figure import Figure

    ours, theirs = own_gains(results, scheme), published_gains(scheme)
    if not ours:
        return None
    figure = Figure(figsize=(6.4, 5.0), layout="constrained")
    axis = figure.subplots()
    values = [v for gain in (*ours, *theirs) for v in (gain.oracle, gain.ours)]
    low, high = min(0.0, *values) - 6, max(0.0, *values) + 6
    axis.plot([low, high], [low, high], color="#9a9a9a", linestyle="--", linewidth=1, zorder=1)
    looks: list[tuple[list[Gain], str, dict[str, Any]]] = [
        (theirs, "paper", {"facecolors": "none", "edgecolors": PAPER_COLOUR, "marker": "o"}),
        (ours, "ours", {"color": BETTER, "marker": "*", "zorder": 3}),
    ]
    for gain_list, name, look in looks:
        if not gain_list:
            continue
        x, y = [g.oracle for g in gain_list], [g.ours for g in gain_list]
        r = correlation(x, y)
        told = f"r = {r:.2f}" if r is not None else "too few for a correlation"
        size = 130 if name == "ours" else 34
        axis.scatter(x, y, s=size, label=f"{name}: {len(x)} tasks, {told}", **look)
    axis.axhline(0, color="#d0d0d0", linewidth=0.8, zorder=0)
    axis.axvline(0, color="#d0d0d0", linewidth=0.8, zorder=0)
    axis.set_xlim(low, high + 0.22 * (high - low))
    axis.set_ylim(low, high)
    axis.set_xlabel("her-task less her-full, points")
    axis.set_ylabel(f"{scheme} less her-full, points")
    axis.legend(loc="upper left", frameon=True, framealpha=1.0, edgecolor="none")
    labels = [
        Label(gain.oracle, gain.ours, short_task(gain.task), colour)
        for group, colour in ((ours, BETTER), (theirs, "#6a6a6a"))
        for gain in group
    ]
    place_labels(axis, labels)
    return Drawing(
        "gains",
        "Goal sets help where full states get in the way",
        (
            "Each point is a task, averaged over the learners that have her-full, her-task and "
            f"{scheme} on it. Along: what an oracle projection gains; up: what {scheme} gains. On "
            "the diagonal, goal sets recover all of it without fixing the question in advance. "
            "Hollow: the paper's table. " + budget.scores(_used(results, ours, scheme))
        ),
        figure,
    )


def _used(results: Results, found: Sequence[Gain], scheme: str) -> list[Cell]:
    cells = [
        results.get(gain.task, learner, name)
        for gain in found
        for learner in gain.learners
        for name in (FULL_STATE, ORACLE, scheme)
    ]
    return [cell for cell in cells if cell is not None]
