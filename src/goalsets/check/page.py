"""The check as one self-contained HTML page, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import goalsets
from goalsets.check.distance import Distances
from goalsets.check.found import Check, Checked
from goalsets.check.verdict import WORDS, spoken_thresholds
from goalsets.check.words import (
    STILL,
    baselines,
    counts,
    number,
    plain,
    share,
    summary,
    times,
)
from goalsets.core.durations import duration
from goalsets.webpage import write_webpage

_SIDE = 220
"""Width and height of a plot, without its axes."""


def write_page(check: Check, path: str | Path) -> None:
    """Write the page."""
    write_webpage(
        "goalsets.check",
        path,
        check=check,
        version=goalsets.__version__,
        baselines=baselines,
        counts=counts(check),
        duration=duration,
        matrix=matrix(check),
        number=number,
        plot=plot,
        share=share,
        still=STILL[check.still],
        summary=summary(check),
        times=times,
        thresholds=spoken_thresholds(check.thresholds),
        worst_first=sorted(check.questions, key=lambda q: -WORDS.index(q.verdict.word)),
    )


def write_json(check: Check, path: str | Path) -> None:
    """Write the whole check as JSON."""
    Path(path).write_text(json.dumps(plain(check), indent=1) + "\n", encoding="utf-8")


def matrix(check: Check) -> list[tuple[str, list[Checked | None]]] | None:
    """The questions as a matrix: pairs of groups, with single groups on the diagonal.

    None if there are no pairs, or if there are other questions, too.
    """
    by_parts = {frozenset(each.name.split(" & ")): each for each in check.questions}
    names = [each.name for each in check.questions if " & " not in each.name]
    pairs = [parts for parts in by_parts if len(parts) == 2]
    known = {frozenset({name}) for name in names}
    if not pairs or any(not parts <= set(names) for parts in by_parts) or len(known) < 2:
        return None
    return [
        (row, [by_parts.get(frozenset({row, column})) for column in names[: place + 1]])
        for place, row in enumerate(names)
    ]


def plot(found: Distances) -> dict[str, Any]:
    """Predictions over steps to the arrival, as an SVG path of dots, and the line of equality.

    A distance that is not in steps has its own scale, and no line.
    """
    most = max((steps for steps, _ in found.points), default=1)
    high = max((value for _, value in found.points), default=1.0)
    low = min(0.0, min((value for _, value in found.points), default=0.0))
    top = max(high, float(most)) if found.error is not None else high
    span = max(top - low, 1e-9)
    dots = "".join(
        f"M{_SIDE * steps / most:.0f} {_SIDE * (1 - (value - low) / span):.0f}h0"
        for steps, value in found.points
    )
    line = None
    if found.error is not None:
        line = (_SIDE * (1 + low / span), _SIDE * (1 - (most - low) / span))
    return {"side": _SIDE, "dots": dots, "most": most, "top": number(top), "line": line}
