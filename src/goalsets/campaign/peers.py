"""Time to success beside the peers: the table of what `python -m benchmarks.peers` has recorded.

Each record is a run of one contestant: its evaluations after so many processor seconds of training.
The table goes into docs/results.md.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goalsets.campaign.pages import fill_places
from goalsets.core import door

RECORDS = Path("results/peers")
PAGES = (Path("docs/results.md"),)
LEVELS = (0.5, 0.8, 0.95)
"""Shares of official success whose times are compared."""
OURS = "ours"
GOAL = 20
"""How many times faster we want to be to every level that a peer reaches."""

Record = Mapping[str, Any]
Rows = dict[tuple[str, str, str], list[Record]]
"""The records of each task, contestant and way of asking, a seed each."""

_TITLES = {OURS: "ours", "released": "the paper's released code", "ogbench": "OGBench"}


def write() -> None:
    """Write the table."""
    fill_places({"peers": table(read_records())}, PAGES)


def read_records(place: Path = RECORDS) -> list[Record]:
    """All readable records, in order; a damaged line is left out."""
    lines = (line for file in sorted(place.glob("*.jsonl")) for line in door.read_json_lines(file))
    return [line for line in lines if isinstance(line, dict) and line.get("curve")]


def is_same_run(record: Record, other: Record) -> bool:
    """Whether two records are of the same contestant under the same conditions."""
    names = ("task", "contestant", "seed", "settings", "data", "episodes")
    return all(record[name] == other[name] for name in names)


def is_long_enough(record: Record, budget: float) -> bool:
    """Whether a run with another budget, in seconds, would add nothing."""
    return record["ended"] != "budget" or record["budget_seconds"] >= budget


def rows_of(records: Sequence[Record]) -> Rows:
    """The newest record of each contestant and seed. A task's rows are all on the same data."""
    data = {record["task"]: record["data"] for record in records}
    newest: dict[tuple[str, str, int], Record] = {}
    for record in records:
        if record["data"] == data[record["task"]]:
            newest[record["task"], record["contestant"], record["seed"]] = record
    rows: Rows = {}
    for (task, contestant, _), record in newest.items():
        for way in record["curve"][-1]["asked"]:
            rows.setdefault((task, contestant, way), []).append(record)
    return dict(sorted(rows.items(), key=lambda row: (row[0][0], row[1][0]["kind"] != OURS)))


def seconds_to(record: Record, way: str, level: float) -> float:
    """Seconds of training until the first evaluation at a level; infinite if there is none."""
    reached = (e["seconds"] for e in record["curve"] if e["asked"][way]["success"] >= level)
    return next(reached, math.inf)


def median_to(records: Sequence[Record], way: str, level: float) -> float:
    """The median of the seconds to a level over seeds; infinite if half of the seeds miss it."""
    return statistics.median_high(seconds_to(record, way, level) for record in records)


def fastest_ours(rows: Rows) -> dict[tuple[str, float], float]:
    """For each task and level, the seconds of our fastest row."""
    found: dict[tuple[str, float], float] = {}
    for (task, _, way), records in rows.items():
        for level in LEVELS if records[0]["kind"] == OURS else ():
            seconds = median_to(records, way, level)
            found[task, level] = min(seconds, found.get((task, level), math.inf))
    return found


def table(records: Sequence[Record]) -> str:
    """The records as a Markdown table, with a sentence about the smallest ratio."""
    rows = rows_of(records)
    if not rows:
        return "Nothing is recorded yet."
    ours = fastest_ours(rows)
    levels = " | ".join(f"{100 * level:.0f} %" for level in LEVELS)
    lines = [
        f"| task | contestant | {levels} | highest seen | steps | seeds |",
        f"|---|---|{'---:|' * (len(LEVELS) + 3)}",
    ]
    for (task, _, way), found in rows.items():
        cells = [_cell(found, way, level, ours.get((task, level))) for level in LEVELS]
        highest = max(e["asked"][way]["success"] for r in found for e in r["curve"])
        steps = max(record["curve"][-1]["step"] for record in found)
        lines.append(
            f"| {task} | {_title(found[0], way)} | {' | '.join(cells)} | {100 * highest:.0f} % | "
            f"{steps:,} | {len(found)} |"
        )
    return "\n".join([*lines, "", _verdict(rows, ours)])


def _title(record: Record, way: str) -> str:
    scheme = record["settings"].get("scheme")
    parts = [f"{_TITLES[record['kind']]}: {record['learner'].upper()}", scheme]
    if record["kind"] == OURS:
        parts.append(way)
    return ", ".join(part for part in parts if part)


def _cell(records: Sequence[Record], way: str, level: float, ours: float | None) -> str:
    """Minutes to a level, and for a peer how many times as long as ours."""
    seconds = median_to(records, way, level)
    trained = min(record["curve"][-1]["seconds"] for record in records)
    reached = math.isfinite(seconds)
    text = _minutes(seconds) if reached else f"not in {_minutes(trained)}"
    if records[0]["kind"] == OURS or ours is None or not math.isfinite(ours):
        return text
    return (
        f"{text} ({_times(seconds / ours)})" if reached else f"{text} (> {_times(trained / ours)})"
    )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f}" if seconds < 600 else f"{seconds / 60:.0f}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f}×" if ratio < 10 else f"{ratio:.0f}×"


def _verdict(rows: Rows, ours: Mapping[tuple[str, float], float]) -> str:
    """The smallest ratio over all levels that a peer reached, in a sentence."""
    ratios: list[float] = []
    missed = 0
    for (task, _, way), records in rows.items():
        for level in LEVELS if records[0]["kind"] != OURS else ():
            seconds = median_to(records, way, level)
            if math.isfinite(seconds):
                ratios.append(seconds / ours.get((task, level), math.inf))
            else:
                missed += 1
    if not ratios:
        return f"*No peer reached a level in its budget: {missed} cells say for how long it tried.*"
    least = min(ratios)
    met = "this meets" if least >= GOAL else "this misses"
    return (
        f"*Levels that peers reached: {len(ratios)}; levels that they missed: {missed}. Of the "
        f"reached ones, the smallest ratio to ours is {_times(least)}: {met} our goal of {GOAL}×.*"
    )
