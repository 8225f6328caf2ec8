"""`goalsets --help`: one line for each command, grouped by what people want to do."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Look around": ("quickstart", "play", "tasks", "query"),
    "Get data": ("data",),
    "Train": ("train", "sweep"),
    "Ask a trained policy": ("ask", "plan"),
    "Measure and compare": ("check", "eval", "suite", "distance", "landscape", "report"),
    "Deploy": ("export", "serve"),
}
"""Each command under one heading."""

_OPTIONS = {
    "-h, --help": "Show this list; after a command, show its options.",
    "--version": "Show the version.",
}


def overview(description: str, verbs: Mapping[str, Callable[..., Any]]) -> str:
    """The text of `goalsets --help`."""
    parts = [f"usage: goalsets [-h] [--version] COMMAND ...\n\n{description}"]
    for heading, names in GROUPS.items():
        parts.append(_section(heading, {name: _summary(verbs[name]) for name in names}))
    parts.append(_section("Options", _OPTIONS))
    return "\n\n".join(parts) + "\n"


def _section(heading: str, entries: Mapping[str, str]) -> str:
    width = min(shutil.get_terminal_size().columns, 100)
    lines = [f"{heading}:"]
    for name, text in entries.items():
        lines += textwrap.wrap(
            text,
            max(width, 40),
            initial_indent=f"  {name:12}",
            subsequent_indent=" " * 14,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _summary(verb: Callable[..., Any]) -> str:
    """The first paragraph of the command's docstring."""
    return " ".join((inspect.getdoc(verb) or "").partition("\n\n")[0].split())
