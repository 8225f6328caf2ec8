"""Putting tables into pages, so that no figure is typed by hand."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from goalsets.report.statistics import success_interval

README = Path("README.md")


def fill_places(texts: Mapping[str, str], pages: Iterable[Path]) -> None:
    """Put texts into the places of pages that have their names; other places stay as they are."""
    place = re.compile(r"<!-- results: (\w+) -->.*?<!-- end -->", re.DOTALL)

    def fill(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in texts:
            return match.group(0)
        return f"<!-- results: {name} -->\n{texts[name]}\n<!-- end -->"

    for page in pages:
        page.write_text(place.sub(fill, page.read_text(encoding="utf-8")), encoding="utf-8")


def success_cell(found: Sequence[Mapping[str, Any]]) -> str:
    """Success in percent with its interval, over what was found with each seed.

    Args:
        found: Each with its `success` and `num_episodes`.
    """
    values = [100.0 * each["success"] for each in found]
    low, high = success_interval(values, sum(each["num_episodes"] for each in found))
    return f"{statistics.fmean(values):.0f} [{low:.0f}, {high:.0f}]"


def training_minutes(found: Sequence[Mapping[str, Any]]) -> float:
    """The median of the minutes that one core was busy with training, over records.

    Older records say only how long it took beside other work.
    """
    return statistics.median(r.get("processor_seconds", r["training_seconds"]) for r in found) / 60
