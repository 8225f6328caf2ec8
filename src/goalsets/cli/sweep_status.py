"""`goalsets sweep status`: the progress of a sweep, read from its files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from rich.console import RenderableType

    from goalsets.sweep import Survey

_MOST_RUNNING = 12


def status(
    directory: Annotated[Path, tyro.conf.Positional],
    once: bool = False,
    interval: float = 2.0,
) -> None:
    """Show the progress of a sweep: runs done, running, waiting and failed, and the time left.

    On a terminal the table is updated until nothing runs or you press Ctrl-C. It is read from
    files, so the command works on any machine that can read them.

    Args:
        directory: The sweep's directory.
        once: Print the table once, even on a terminal.
        interval: Seconds between updates.
    """
    from rich.console import Console
    from rich.live import Live

    from goalsets.sweep import survey

    console = Console(highlight=False)
    found = survey(directory)
    if once or not console.is_terminal:
        print_survey(found, directory)
        return
    with Live(render(found, directory), console=console, auto_refresh=False) as live:
        try:
            while found.of("running"):
                time.sleep(interval)
                found = survey(directory)
                live.update(render(found, directory), refresh=True)
        except KeyboardInterrupt:
            return


def print_survey(found: Survey, directory: Path) -> None:
    """Print the table once."""
    from rich.console import Console

    Console(highlight=False).print(render(found, directory))


def render(found: Survey, directory: Path) -> RenderableType:
    """The table of counts, the runs that are running, and those that failed."""
    from rich.console import Group

    parts: list[RenderableType] = [_counts(found, directory)]
    running, failed = found.of("running"), found.of("failed")
    if running:
        parts.append(_running(found))
    if failed:
        parts.append(_failed(found))
    return Group(*parts)


def _counts(found: Survey, directory: Path) -> RenderableType:
    from rich import box
    from rich.table import Table

    from goalsets.sweep.survey import STANDINGS

    kinds: dict[tuple[str, str], dict[str, int]] = {}
    for entry in found.entries:
        kind = (entry.job.config.task, entry.job.config.learner)
        row = kinds.setdefault(kind, dict.fromkeys(STANDINGS, 0))
        row[entry.standing] += 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_footer=True)
    table.add_column("task", footer=f"{len(found.entries)} runs{_left(found, directory)}")
    table.add_column("learner")
    for standing in STANDINGS:
        table.add_column(standing, str(found.counts[standing]), justify="right")
    for (task, learner), row in kinds.items():
        table.add_row(task, learner, *(str(row[s] or "") for s in STANDINGS))
    return table


def _left(found: Survey, directory: Path) -> str:
    from goalsets.screen import clock
    from goalsets.sweep.drive import read_driver

    slots = max(len(found.of("running")), read_driver(directory).slots)
    seconds = found.seconds_left(slots)
    return f", about {clock(seconds)} left" if seconds else ""


def _running(found: Survey) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from goalsets.screen import clock

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("running", "doing", "step", "time", "where"):
        table.add_column(column, justify="right" if column in ("step", "time") else "left")
    running = found.of("running")
    for entry in running[:_MOST_RUNNING]:
        status = entry.status
        assert status is not None
        table.add_row(
            Text(entry.job.name),
            Text(status.doing),
            f"{status.step:,}/{status.steps:,}",
            clock(status.seconds),
            Text(status.host),
        )
    if len(running) > _MOST_RUNNING:
        table.add_row(f"and {len(running) - _MOST_RUNNING} more", "", "", "", "")
    return table


def _failed(found: Survey) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("failed", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for entry in found.of("failed"):
        table.add_row(Text(entry.job.name), Text(entry.status.reason if entry.status else ""))
    return table
