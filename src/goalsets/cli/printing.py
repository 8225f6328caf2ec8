"""What several commands print: plain tables, plans, and notes on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goalsets.data.store import Store
    from goalsets.plan import Plan


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; only the last column wraps."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in columns:
        table.add_column(column, no_wrap=column != columns[-1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)


def print_plan(plan: Plan, rate: float | None = None) -> None:
    """Print a plan in words, one line for each step; also in seconds if the rate is known."""
    first, *rest = plan.explain(rate).split("\n")
    print(f"plan       {first}")
    for line in rest:
        print(f"           {line}")


def say_aside(text: str) -> None:
    """Print a note on standard error, so that standard output holds only results."""
    print(text, file=sys.stderr, flush=True)


def find_store(task: str, data: Path | None, *, make: bool = False) -> Store:
    """Open the store that was named, or that of the task; say if data had to be generated."""
    from goalsets.collect.find import find_store as find

    return find(task, data, make=make, say=say_aside)
