"""Small charts over an episode, as SVG, with a common cursor."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

WIDTH = 400
"""Width of a chart in its own pixels; the page scales it to the panel, up to a limit."""
_LEFT, _RIGHT = 46, 6
_POINTS = 260
"""Bins over the length of a chart: the lowest and the highest number of each are drawn."""
_GREY, _INK, _CURSOR, _BAND = "#4b5563", "#1f2937", "#111827", "#dcfce7"

Values = NDArray[np.floating]
Scale = Callable[[float], float]


@dataclass(frozen=True, eq=False)
class Line:
    """One curve."""

    name: str
    values: Values
    """`[N]`, one number for each step; NaN makes a gap."""
    colour: str
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class Chart:
    """Curves over the steps of an episode."""

    title: str
    lines: Sequence[Line]
    steps: int
    """The last step; the axis goes from 0 to there."""
    cursor: int
    band: NDArray[np.bool_] | None = None
    """`[N]`, steps with a coloured background."""
    marks: tuple[tuple[float, str], ...] = ()
    """Levels that are drawn as lines, with their labels."""
    reading: str = ""
    """The text beside the title: the values at the cursor."""
    lowest: float | None = None
    """The lowest value of the axis; by default as the curves need."""
    highest: float | None = None
    """The highest value of the axis; curves are cut off there."""
    height: int = 46
    axis: bool = False
    """Whether the steps are written below."""

    def svg(self, rate: float | None = None) -> str:
        """Draw it; if there is a rate, steps are also given in seconds."""
        low, high = self.span
        top, bottom = 16, 16 + self.height
        full = bottom + (14 if self.axis else 3)

        def x(step: float) -> float:
            return _LEFT + (WIDTH - _LEFT - _RIGHT) * step / max(1, self.steps)

        def y(value: float) -> float:
            return bottom - self.height * (min(max(value, low), high) - low) / (high - low)

        parts = [self._title()]
        parts.append(
            f"<rect x='{_LEFT}' y='{top}' width='{WIDTH - _LEFT - _RIGHT}' height='{self.height}' "
            "fill='#f8fafc' stroke='#e2e8f0'/>"
        )
        parts += [
            f"<rect x='{x(a):.1f}' y='{top}' width='{max(1.0, x(b) - x(a)):.1f}' "
            f"height='{self.height}' fill='{_BAND}'/>"
            for a, b in _stretches(self.band)
        ]
        for level, name in self.marks:
            if low <= level <= high:
                parts.append(
                    f"<line x1='{_LEFT}' x2='{WIDTH - _RIGHT}' y1='{y(level):.1f}' "
                    f"y2='{y(level):.1f}' stroke='#b91c1c' stroke-width='.8' "
                    f"stroke-dasharray='2 3'><title>{escape(name)}</title></line>"
                )
        for line in self.lines:
            parts += _curves(line, x, y)
        parts.append(
            f"<line data-cursor='{self.cursor}' x1='{x(self.cursor):.1f}' "
            f"x2='{x(self.cursor):.1f}' y1='{top - 2}' y2='{bottom + 2}' stroke='{_CURSOR}' "
            "stroke-width='1.2'/>"
        )
        for line in self.lines:
            if self.cursor < len(line.values) and np.isfinite(line.values[self.cursor]):
                at = y(float(line.values[self.cursor]))
                parts.append(
                    f"<circle cx='{x(self.cursor):.1f}' cy='{at:.1f}' r='2.6' "
                    f"fill='{line.colour}'/>"
                )
        for value, place in ((high, top + 8), (low, bottom)):
            parts.append(_text(_LEFT - 4, place, number(value, high - low), _GREY, "end"))
        if self.axis:
            parts += self._axis(x, bottom + 11, rate)
        said = escape(f"{self.title}. {self.reading}", quote=True)
        return (
            f"<svg role='img' aria-label='{said}' viewBox='0 0 {WIDTH} {full}' "
            "style='display:block;width:100%;height:auto;flex:1 1 380px;max-width:450px' "
            "font-family='system-ui,sans-serif' font-size='11'>" + "".join(parts) + "</svg>"
        )

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest value of the axis."""
        levels = [level for level, _ in self.marks]
        seen = [v[np.isfinite(v)] for v in (np.asarray(line.values) for line in self.lines)]
        values = np.concatenate([*seen, np.array(levels, float)])
        low = float(values.min()) if len(values) else 0.0
        high = float(values.max()) if len(values) else 1.0
        low = low if self.lowest is None else self.lowest
        high = high if self.highest is None else min(high, self.highest)
        if high - low < 1e-9:
            return low - 0.5, high + 0.5
        room = 0.04 * (high - low)
        return (low if self.lowest is not None else low - room), high + room

    def _title(self) -> str:
        read = f"<tspan fill='{_GREY}' font-weight='400'>  {self.reading}</tspan>"
        return (
            f"<text x='0' y='11' fill='{_INK}' font-weight='600' xml:space='preserve'>"
            f"{escape(self.title)}{read}</text>"
        )

    def _axis(self, x: Scale, y: float, rate: float | None) -> list[str]:
        marks = (0, self.steps // 2, self.steps) if self.steps > 1 else (0, self.steps)
        anchors = ("start", "middle", "end")
        found = []
        for mark, anchor in zip(marks, anchors, strict=False):
            seconds = "" if rate is None else f" ({mark / rate:.3g} s)"
            word = "step " if mark == 0 else ""
            found.append(_text(x(mark), y, f"{word}{mark}{seconds}", _GREY, anchor))
        return found


def number(value: float, span: float | None = None) -> str:
    """A number in few digits; with a span, as many as a chart of that span can show."""
    if span is not None and 1e-3 < span < 1e5:
        return f"{value:,.{max(0, 2 - math.floor(math.log10(span)))}f}"
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def legend(lines: Sequence[tuple[str, str, bool]]) -> str:
    """The legend: name, colour and dash of each curve, and the meaning of the background."""
    parts = [
        f"<span style='white-space:nowrap;margin-right:.9em'><span style='display:inline-block;"
        f"width:1.6em;border-top:2px {'dashed' if dashed else 'solid'} {colour};"
        f"vertical-align:middle;margin-right:.35em'></span>{escape(name)}</span>"
        for name, colour, dashed in lines
    ]
    parts.append(
        f"<span style='white-space:nowrap'><span style='background:{_BAND};padding:0 .6em;"
        "margin-right:.35em'></span>answered</span>"
    )
    return f"<div style='font-size:.75em;color:{_INK};margin-bottom:.2em'>{''.join(parts)}</div>"


def _curves(line: Line, x: Scale, y: Scale) -> list[str]:
    dash = " stroke-dasharray='4 3'" if line.dashed else ""
    return [
        f"<polyline points='{' '.join(f'{x(s):.1f},{y(v):.1f}' for s, v in piece)}' fill='none' "
        f"stroke='{line.colour}' stroke-width='1.4'{dash}/>"
        for piece in _pieces(np.asarray(line.values, np.float64))
    ]


def _pieces(values: NDArray[np.float64]) -> list[list[tuple[float, float]]]:
    """The points of a curve between its gaps, thinned so that no extreme is lost."""
    found: list[list[tuple[float, float]]] = []
    for start, stop in _stretches(np.isfinite(values)):
        rows = np.arange(start, stop + 1)[: len(values) - start]
        rows = rows[np.isfinite(values[rows])]
        size = -(-len(rows) // _POINTS)
        if size > 1:
            bins = [rows[i : i + size] for i in range(0, len(rows), size)]
            picks = [sorted((b[values[b].argmin()], b[values[b].argmax()])) for b in bins]
            rows = np.unique([rows[0], *(row for pair in picks for row in pair), rows[-1]])
        found.append([(float(row), float(values[row])) for row in rows])
    return found


def _stretches(flags: NDArray[np.bool_] | None) -> list[tuple[int, int]]:
    """The stretches in which flags are set: their first steps, and the steps after their last."""
    if flags is None or not flags.any():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [
        (int(a), min(int(b), len(flags) - 1)) for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]


def _text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'"
    return f"<text {place} fill='{colour}'>{escape(text)}</text>"
