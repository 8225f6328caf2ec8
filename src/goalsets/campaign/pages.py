"""Putting tables into pages, so that no figure is typed by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

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
