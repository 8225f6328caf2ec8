"""Figures of value landscapes: the distance that a run predicts over a plane, for each query.

They are drawn from the recorded landscape of a run, or computed from its weights.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.evaluate.landscape import (
    LANDSCAPE,
    Landscape,
    Plane,
    compute_landscape,
    has_landscape,
    kept_landscape,
    planes_of,
    terrain_of,
)
from goalsets.learners import LEARNERS
from goalsets.report import budget
from goalsets.report.figures.drawing import Drawing
from goalsets.report.published import answers_queries
from goalsets.report.reading import Note, RunRecord
from goalsets.report.results import Results
from goalsets.report.tables import plain_name
from goalsets.runs.run import WEIGHTS, Run
from goalsets.runs.weights import CHECKPOINT
from goalsets.workers import silence


def draw_landscapes(
    results: Results, notes: list[Note], watch: Callable[[int, int], None] = silence
) -> list[Drawing]:
    """Draw one figure for each learner and scheme that has a landscape.

    It shows the first seed that has a recorded landscape or its weights.
    """
    chosen: dict[tuple[str, str, str], list[RunRecord]] = {}
    for run in sorted(results.runs, key=lambda run: run.config.seed):
        if not results.variants[str(run.path)] and has_landscape(run.config):
            key = (run.task, run.config.learner, run.config.scheme)
            chosen.setdefault(key, []).append(run)
    drawings: list[Drawing] = []
    for number, seeds in enumerate(chosen.values(), start=1):
        drawings += _first_of(seeds, notes)
        watch(number, len(chosen))
    return drawings


def _first_of(seeds: list[RunRecord], notes: list[Note]) -> list[Drawing]:
    """The figure of the first seed that has a landscape; if none has, notes say why."""
    reasons: list[Note] = []
    for run in seeds:
        try:
            found = kept_landscape(run.path, run.config) or _computed(run.path)
            return [_draw(run, found)]
        except GoalsetsError as error:
            reasons.append(Note(str(run.path), f"no landscape: {error}"))
    notes += reasons
    return []


def _computed(path: Path) -> Landscape:
    if not (path / CHECKPOINT).exists() and not (path / WEIGHTS).exists():
        raise GoalsetsError(
            f"it has neither weights nor a {LANDSCAPE}, which 'goalsets landscape' writes."
        )
    return compute_landscape(Run.open(path))


def _draw(run: RunRecord, landscape: Landscape) -> Drawing:
    from matplotlib.figure import Figure

    planes, asked = planes_of(run.config.task), landscape.queries
    hears = answers_queries(run.config.scheme)
    surfaces = landscape.distances.astype(np.float32)
    shown = np.concatenate(
        [surfaces[row][:, ~plane.walls].ravel() for row, plane in enumerate(planes)]
    )
    limits = float(shown.min()), float(shown.max())
    figure = Figure(
        figsize=(1.6 + 2.5 * len(asked), 0.9 + 2.55 * len(planes)), layout="constrained"
    )
    axes = figure.subplots(len(planes), len(asked), squeeze=False, sharex="row", sharey="row")
    mesh: Any = None
    for row, plane in enumerate(planes):
        for column, text in enumerate(asked):
            axis = axes[row, column]
            mesh = _surface(axis, plane, surfaces[row, column], limits)
            if row == 0:
                axis.set_title(f"“{text}”" if hears else f"{run.config.scheme} hears no query")
            axis.set_xlabel(f"x, {plane.unit}")
        axes[row, 0].set_ylabel(f"{plane.label}\ny, {plane.unit}".lstrip("\n"))
    unit = LEARNERS[run.config.learner].distance_unit
    figure.colorbar(mesh, ax=axes, label=f"predicted distance ({unit})", shrink=0.85, pad=0.02)
    figure.suptitle(f"{run.config.learner} {run.config.scheme} on {run.task}", fontsize=10)
    return Drawing(
        plain_name(f"landscape {run.task} {run.config.learner} {run.config.scheme}"),
        f"Value landscape: {run.config.learner} {run.config.scheme} on {run.task}",
        (
            f"Predicted distance to one official goal (cross), {terrain_of(run.task).caption} A "
            "question that does not look at what moves should see no slope. Darker is nearer; all "
            f"panels share their colours. Budget: {budget.training([run])}; the last checkpoint "
            f"of seed {run.config.seed} alone (single seed)."
        ),
        figure,
        vector=False,
    )


def _surface(
    axis: Any,  # noqa: ANN401 - matplotlib's
    plane: Plane,
    values: NDArray[np.float32],
    limits: tuple[float, float],
) -> Any:  # noqa: ANN401 - matplotlib's
    masked = np.ma.masked_array(values, plane.walls)
    axis.set_facecolor("#9a9a9a")
    mesh = axis.pcolormesh(
        plane.x, plane.y, masked, cmap="viridis", vmin=limits[0], vmax=limits[1],
        shading="nearest", rasterized=True,
    )  # fmt: skip
    levels = np.linspace(*limits, 9)[1:-1]
    axis.contour(plane.x, plane.y, masked, levels, colors="white", linewidths=0.5, alpha=0.7)
    axis.scatter(*plane.aim, marker="X", s=70, color="white", edgecolors="black", linewidths=1)
    axis.set_aspect("equal")
    return mesh
