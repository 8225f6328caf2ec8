"""Insight: unsatisfied requirements, predicted distances, and what the data says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Query
from goalsets.play.panels.desk import Desk
from goalsets.play.setup import Support
from goalsets.play.show import Show
from goalsets.play.words import note, support, violations

_COLOURS = ("#0f766e", "#c2410c", "#4338ca", "#be185d", "#4d7c0f", "#0369a1", "#78350f", "#6b7280")
_DASHES = ([], [6, 4])
"""The first checkpoint's curves are solid, the second's are dashed."""


class InsightPanel:
    """Draws the status of the question."""

    def __init__(self, desk: Desk) -> None:
        """Add the widgets to the present container."""
        self._desk = desk
        gui, setup = desk.gui, desk.setup
        self._violations = gui.add_html("")
        self._others: list[tuple[str, Query]] = []
        self._curves: Any = None
        self._shape: tuple[str, ...] = ()
        with gui.add_folder("Predicted distance to the goal"):
            if any(c.unit is not None for c in setup.checkpoints):
                self._plot_place = gui.add_folder(None)
                with gui.add_folder("Compare with other questions", expand_by_default=False):
                    for ready in setup.ready:
                        box = gui.add_checkbox(ready.label, False, hint=ready.description)
                        desk.changes(box, self._compare(ready.label, ready.text))
            else:
                self._plot_place = None
                one = len(setup.checkpoints) == 1
                who = "This learner predicts" if one else "These learners predict"
                gui.add_html(note(f"{who} no distances."))
        with gui.add_folder("What the data says about the question"):
            self._support = gui.add_html(support(None))

    def draw(self, show: Show) -> None:
        """Update table and curves."""
        views = show.views()
        self._violations.content = violations(views, show.setup.task.layout)
        if self._plot_place is not None:
            self._draw_curves(show)

    def say_support(self, found: Support | None) -> None:
        """Show what the data says; None while that is being counted."""
        self._support.content = support(found)

    def _draw_curves(self, show: Show) -> None:
        asked = show.views()[0].goals.query
        named = [("the question", asked), *((n, q) for n, q in self._others if q != asked)]
        for stage in show.stages:
            stage.keep_curves({query for _, query in named})
        steps, curves = curves_of(show, named)
        self._put_curves((steps, *curves.values()), tuple(curves))

    def _put_curves(self, data: tuple[Any, ...], labels: tuple[str, ...]) -> None:
        if self._curves is not None and labels == self._shape:
            self._curves.data = tuple(np.asarray(d, dtype=np.float64) for d in data)
            return
        if self._curves is not None:
            self._curves.remove()
        self._shape = labels
        telling = [c for c in self._desk.setup.checkpoints if c.unit is not None]
        per_stage = len(labels) // len(telling)
        series: list[dict[str, Any]] = [{"label": "step"}]
        for number, label in enumerate(labels):
            series.append(
                {
                    "label": label,
                    "stroke": _COLOURS[number % len(_COLOURS)],
                    "dash": _DASHES[number // per_stage % 2],
                    "width": 2,
                }
            )
        unit = " or ".join(dict.fromkeys(str(checkpoint.unit) for checkpoint in telling))
        assert self._plot_place is not None
        with self._plot_place:
            self._curves = self._desk.gui.add_uplot(
                data,
                tuple(series),  # pyright: ignore[reportArgumentType] - a typed dictionary
                scales={"x": {"time": False}, "y": {"auto": True}},
                axes=(
                    {"label": "step", "labelSize": 18, "size": 32},
                    {"label": unit, "labelSize": 18, "size": 44},
                ),
                # The last label of an axis is centred on its end, and needs room beyond it.
                padding=(12, 18, 0, 0),
                legend={"show": True},
                height=230,
            )

    def _compare(self, name: str, text: str) -> Any:  # noqa: ANN401 - a command with a value
        query = Query.parse(text, self._desk.setup.task.layout)

        def choose(_: Show, on: bool) -> None:
            self._others = [pair for pair in self._others if pair[0] != name]
            if on:
                self._others.append((name, query))

        return choose


def curves_of(
    show: Show, named: Sequence[tuple[str, Query]]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Steps `[T]`, and by name predicted distances `[T]`, of the stages that predict any."""
    found = show.curves([query for _, query in named])
    length = max(len(curve) for told in found for curve in told)
    curves: dict[str, NDArray[np.float64]] = {}
    for stage, told in zip(show.stages, found, strict=True):
        if stage.checkpoint.unit is not None:
            prefix = f"{stage.checkpoint.name}: " if len(show.stages) > 1 else ""
            for (name, _), curve in zip(named, told, strict=True):
                # Repeat the last value of a stage that is done while another goes on. (With NaN
                # instead, the plot would find no scale.)
                padded = np.pad(curve, (0, length - len(curve)), mode="edge")
                curves[prefix + name] = padded.astype(np.float64)
    last = show.steps if show.replay is None else show.replay.recording.steps
    return np.arange(last - length + 1, last + 1, dtype=np.float64), curves
