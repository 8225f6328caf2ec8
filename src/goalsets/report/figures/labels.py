"""Labels beside points that overlap neither each other nor the points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SIDES = (
    *((1.0, 0.0), (-1.0, 0.0), (0.7, 0.8), (0.7, -0.8)),
    *((-0.7, 0.8), (-0.7, -0.8), (0.0, 1.0), (0.0, -1.0)),
)
_AWAY = [(dx * reach, dy * reach) for reach in (9, 16, 26, 38, 54, 72) for dx, dy in _SIDES]
"""Offsets of a label from its point, in typographic points, the nearest first."""


@dataclass(frozen=True)
class Label:
    """A text for a point, in data coordinates."""

    x: float
    y: float
    text: str
    colour: str


def place_labels(axis: Any, labels: Sequence[Label]) -> None:  # noqa: ANN401 - matplotlib's
    """Write each label at the nearest free place; a distant label gets a line."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(axis.figure).get_renderer()
    axis.figure.draw_without_rendering()  # so that the axes have their final size
    frame = axis.get_window_extent(renderer)
    taken = [_around(axis.transData.transform((label.x, label.y))) for label in labels]
    if axis.get_legend() is not None:
        taken.append(axis.get_legend().get_window_extent(renderer))
    for label in labels:
        for number, (dx, dy) in enumerate(_AWAY):
            text = axis.annotate(
                label.text,
                (label.x, label.y),
                xytext=(dx, dy),
                textcoords="offset points",
                ha="left" if dx > 0 else "right" if dx < 0 else "center",
                va="center",
                fontsize=7.5,
                color=label.colour,
                arrowprops=(
                    {"arrowstyle": "-", "color": label.colour, "linewidth": 0.5}
                    if max(abs(dx), abs(dy)) > 12
                    else None
                ),
            )
            box = text.get_window_extent(renderer)
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0
            if inside and box.y1 <= frame.y1 and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            if number < len(_AWAY) - 1:
                text.remove()


def _around(point: Any) -> Any:  # noqa: ANN401 - matplotlib's
    from matplotlib.transforms import Bbox

    x, y = point
    return Bbox([[x - 6, y - 6], [x + 6, y + 6]])
