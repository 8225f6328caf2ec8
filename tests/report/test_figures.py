"""Figures say what they mean: time of the method, one picture a world, marks on any ground."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from goalsets.report.figures.curves import curve_table, draw_curves
from goalsets.report.figures.drawing import outline
from goalsets.report.figures.pictures import _title, same_worlds
from goalsets.report.reading import read_runs
from goalsets.report.results import Results, gather
from tests.report.conftest import official, share, write_run

mpl.use("agg")


def _results(path: Path, *processor: float | None) -> Results:
    """Runs whose training took as long on the clock, and so much of the processor."""
    for seed, spent in enumerate(processor):
        known = {} if spent is None else {"processor_seconds": spent}
        write_run(path / f"run-{seed}", [official(1000, share(50), **known)], seed=seed)
    found = read_runs([path])
    return gather(found.runs, found.notes)


def test_curves_over_time_are_of_the_processors_time(tmp_path: Path) -> None:
    (drawing,) = draw_curves(_results(tmp_path, 30.0, 60.0))
    steps, times = drawing.figure.axes
    assert steps.get_xlabel() == "gradient steps"
    assert times.get_xlabel() == "seconds of a processor core"
    assert [float(np.max(line.get_xdata())) for line in times.lines] == [30.0, 60.0]
    assert "whatever else the machine did" in drawing.caption


def test_no_curves_over_time_where_a_run_knows_only_the_clocks(tmp_path: Path) -> None:
    results = _results(tmp_path, 30.0, None)
    (drawing,) = draw_curves(results)
    (steps,) = drawing.figure.axes
    assert steps.get_xlabel() == "gradient steps"
    assert "Times are" not in drawing.caption
    # The table keeps both, for whoever knows the machine.
    records = curve_table(results).records
    assert [record["seconds"] for record in records] == [100.0, 100.0]
    assert [record["processor_seconds"] for record in records] == [30.0, None]


def test_tasks_that_differ_in_their_data_share_a_picture() -> None:
    tasks = ["cube-single-play-v0", "pointmaze-medium-navigate-v0", "cube-single-noisy-v0"]
    worlds = same_worlds(tasks)
    assert worlds == [[tasks[0], tasks[2]], [tasks[1]]]
    assert [_title(world) for world in worlds] == ["cube-single\nplay, noisy", "pointmaze-medium"]


def test_error_bars_are_seen_on_black() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    def light_pixels(outlined: bool) -> int:
        figure = Figure(figsize=(2, 2), dpi=100, facecolor="black")
        axis = figure.add_axes((0, 0, 1, 1), facecolor="black")
        drawn = axis.errorbar(0, 0, [[1], [1]], color="#303030", linewidth=1, capsize=3)
        if outlined:
            outline(drawn)
        axis.set_axis_off()
        axis.set_ylim(-2, 2)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return int(np.sum(np.asarray(canvas.buffer_rgba())[..., 0] > 200))

    assert light_pixels(outlined=False) == 0
    assert light_pixels(outlined=True) > 100
