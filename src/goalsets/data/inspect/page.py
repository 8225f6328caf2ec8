"""Writes an inspection as a single HTML page without further files."""

from __future__ import annotations

from pathlib import Path

from goalsets.data.inspect.measure import GroupView, Histogram, Inspection
from goalsets.webpage import write_webpage

_WIDTH, _HEIGHT = 160, 36


def write_page(inspection: Inspection, path: str | Path) -> None:
    """Write the page."""
    write_webpage(
        "goalsets.data.inspect",
        path,
        seen=inspection,
        bars=bars,
        share=share,
        verdict=verdict,
        number=number,
    )


def bars(histogram: Histogram) -> dict[str, object]:
    """A histogram as an SVG path; heights are square roots, so that rare values stay visible."""
    highest = max(histogram.counts) or 1
    step = _WIDTH / len(histogram.counts)
    path = ""
    for place, count in enumerate(histogram.counts):
        if count:
            up = _HEIGHT * (count / highest) ** 0.5
            path += f"M{place * step:.1f} {_HEIGHT}v{-up:.1f}h{step - 0.6:.1f}V{_HEIGHT}z"
    return {
        "path": path,
        "label": histogram.label,
        "low": number(histogram.low),
        "high": number(histogram.high),
        "width": _WIDTH,
        "height": _HEIGHT,
    }


def verdict(group: GroupView) -> tuple[str, str]:
    """A first answer to "can I query this?": a class for the colour, and a sentence."""
    if group.low == group.high:
        return "bad", "never changes: cannot be a goal"
    if group.episode_share < 0.05:
        return "bad", "hardly ever leaves its tolerance"
    if group.cells is not None and group.cells < 5 and group.metric != "exact":
        return "weak", "very few different goals"
    if group.episode_share < 0.5:
        return "weak", "moves in few episodes"
    return "good", "moves, and has different goals"


def share(value: float | None) -> str:
    """A share in percent; a dash for none."""
    return "–" if value is None else f"{100 * value:.0f} %"


def number(value: float) -> str:
    """A number with few digits."""
    return f"{value:.3g}"
