"""Learning curves: official success over gradient steps, and over processor time.

Wall-clock time depends on the load of the machine, so it is in the table and not in a figure.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from goalsets.relabel.queries import DEFAULT_SCHEME
from goalsets.report import budget
from goalsets.report.figures.drawing import Drawing, mark, place_legend
from goalsets.report.published import FULL_STATE, ORACLE, ordered_schemes, published_learners
from goalsets.report.reading import RunRecord
from goalsets.report.results import Point, Results, in_order, official_points
from goalsets.report.tables import Entry, Table, plain_name

Curves = dict[tuple[str, str], list[tuple[RunRecord, list[Point]]]]
"""Runs with their evaluations, by learner and scheme."""


_TIMES = (
    "Times are what the training alone had of a processor core, whatever else the machine did: "
    "compare only runs on processors of one kind. "
)


def draw_curves(results: Results) -> list[Drawing]:
    """Draw a figure for each task that was evaluated, for the usual recipes."""
    return [drawing for task in results.tasks if (drawing := _draw(results, task)) is not None]


def curve_table(results: Results) -> Table:
    """All evaluations of all runs, for the CSV file."""
    return Table(
        name="curves",
        title="Learning curves",
        caption="Every official evaluation of every run.",
        columns=["run", "step", "success"],
        rows=[
            [Entry(str(run.path)), Entry(str(p.step)), Entry(f"{100 * p.success:.0f}")]
            for run in results.runs
            for p in official_points(run)
        ],
        records=[
            {
                "run": str(run.path),
                "task": run.task,
                "learner": run.config.learner,
                "scheme": run.config.scheme,
                "variant": results.variants[str(run.path)],
                "seed": run.config.seed,
                "step": point.step,
                "seconds": point.seconds,
                "processor_seconds": point.processor_seconds,
                "success": 100 * point.success,
                "episodes": point.episodes,
            }
            for run in results.runs
            for point in official_points(run)
        ],
    )


def _draw(results: Results, task: str) -> Drawing | None:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    curves: Curves = {}
    for run in results.runs:
        points = official_points(run)
        if run.task == task and points and not results.variants[str(run.path)]:
            key = (run.config.learner, run.config.scheme)
            curves.setdefault(key, []).append((run, points))
    if not curves:
        return None
    learners = in_order({learner for learner, _ in curves}, published_learners())
    schemes = in_order({scheme for _, scheme in curves}, ordered_schemes())
    times = [p.processor_seconds for group in curves.values() for _, ps in group for p in ps]
    known = [time for time in times if time is not None]
    timed = len(known) == len(times)  # with times of some runs only, the figure would mislead
    rows = 2 if timed else 1
    figure = Figure(
        figsize=(max(5.0, 1.2 + 2.5 * len(learners)), 0.8 + 2.1 * rows), layout="constrained"
    )
    axes = figure.subplots(rows, len(learners), sharey=True, squeeze=False)
    unit, seconds = ("minutes", 60) if max(known, default=0.0) > 180 else ("seconds", 1)
    for column, learner in enumerate(learners):
        for scheme in schemes:
            runs = curves.get((learner, scheme), [])
            _plot(axes[0, column], [[(p.step, p.success) for p in points] for _, points in runs],
                  scheme)  # fmt: skip
            if timed:
                spent = [
                    [((p.processor_seconds or 0.0) / seconds, p.success) for p in points]
                    for _, points in runs
                ]
                _plot(axes[1, column], spent, scheme, same_places=False)
                axes[1, column].set_xlabel(f"{unit} of a processor core")
        axes[0, column].set_title(learner)
        axes[0, column].set_xlabel("gradient steps")
    for axis in axes.flat:
        axis.set_ylim(-3, 104)
        axis.set_xlim(left=0)
        axis.set_yticks(range(0, 101, 25))
        axis.locator_params(axis="x", nbins=4)
        axis.xaxis.set_major_formatter("{x:,g}")
        axis.grid()
    figure.supylabel("official success, %", fontsize=9.5)
    figure.suptitle(task, fontsize=10)
    handles = [
        Line2D([], [], color=mark(s).colour, linestyle=mark(s).line, label=s, **_marker(s))
        for s in schemes
    ]
    place_legend(figure, handles)
    runs = [run for group in curves.values() for run, _ in group]
    counts = budget.seeds(len(group) for group in curves.values())
    return Drawing(
        f"curves-{plain_name(task)}",
        f"Learning curves: {task}",
        (
            "Every mark is an official evaluation. Where there are several seeds, thin lines are "
            "seeds and the thick one is their mean, at steps that all of them have. "
            + (_TIMES if timed else "")
            + f"Budget: {budget.training(runs)}; {counts}. {budget.PAPER}"
        ),
        figure,
    )


def _plot(
    axis: Any,  # noqa: ANN401 - matplotlib's
    seeds: Sequence[Sequence[tuple[float, float]]],
    scheme: str,
    *,
    same_places: bool = True,
) -> None:
    """Plot the curves of a scheme: each seed, and the mean if there are several."""
    look = mark(scheme)
    alone = len(seeds) == 1 or not same_places
    for curve in seeds:
        axis.plot(
            [x for x, _ in curve], [100 * y for _, y in curve], color=look.colour,
            linestyle=look.line, linewidth=1.5 if len(seeds) == 1 else 0.7,
            alpha=1.0 if len(seeds) == 1 else 0.6,
            **(_marker(scheme) if alone else {"marker": ".", "markersize": 3}),
        )  # fmt: skip
    if alone or not seeds:
        return
    shared = set.intersection(*({x for x, _ in curve} for curve in seeds))
    mean = [(x, statistics.fmean(dict(curve)[x] for curve in seeds)) for x in sorted(shared)]
    axis.plot(
        [x for x, _ in mean], [100 * y for _, y in mean], color=look.colour, linestyle=look.line,
        linewidth=1.8, **_marker(scheme),
    )  # fmt: skip


def _marker(scheme: str) -> dict[str, Any]:
    """The marker of a scheme; markers at the same place are nested, so that all are visible."""
    shape = "X" if mark(scheme).marker == "|" else mark(scheme).marker
    size = {FULL_STATE: 9.5, ORACLE: 7.5, DEFAULT_SCHEME: 6.5}.get(scheme, 4.0)
    return {
        "marker": shape,
        "markersize": size,
        "markerfacecolor": "none",
        "markeredgewidth": 1.2,
        "clip_on": False,  # the last evaluation may lie on the edge
    }
