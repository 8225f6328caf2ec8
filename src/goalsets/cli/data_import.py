"""`goalsets data import`: turn a robot log into a store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from goalsets.data.sources import SOURCES, Source, default_store_name, known_layout


def verb() -> Callable[..., None]:
    """The command with a choice of all sources, including those of plugins."""
    sources = [Annotated[kind, tyro.conf.subcommand(name)] for name, kind in SOURCES.items()]
    choice: Any = Union[tuple(sources)]  # noqa: UP007 - known only now
    import_.__annotations__["source"] = tyro.conf.PositionalRequiredArgs[choice]
    return import_


def import_(
    source: Source,
    output: Path | None = None,
    layout: Path | None = None,
    hold_out: float = 0.1,
    action_low: tuple[float, ...] | None = None,
    action_high: tuple[float, ...] | None = None,
    action_switches: tuple[int, ...] | None = None,
    units: tuple[str, ...] = (),
) -> None:
    """Read a log and write a store that goalsets can train on, inspect and query.

    Args:
        source: The format to read; 'goalsets data import hdf5 --help' describes one of them.
        output: The directory of the store; by default in $GOALSETS_DATA or ~/.goalsets/data, under
            the log's name. An existing store is replaced at the end.
        layout: A layout file (YAML or JSON) that names the coordinates of the states. Without it, a
            layout is made from the names in the log, written beside the store, and used. That file
            also suggests changes, as comments.
        hold_out: The share of episodes for validation, if the log has no validation split.
        action_low: The smallest action that a policy may take, in the log's own units: one number
            for all components, or one for each. By default it is the bound of the action space if
            the log declares one; otherwise the range in the log, widened by a tenth.
        action_high: The largest action, in the same form.
        action_switches: Components of actions, counted from 0, that have two values in the log,
            such as a command to open a gripper. A policy then answers only these two values.
        units: Physical units of groups, such as "joint*=deg" tool=m; a star matches anything.
            Questions may then say joint_2:5deg, and distances are printed in that unit.
    """
    from goalsets.core import read_layout
    from goalsets.data.importing import import_source, write_proposal
    from goalsets.data.paths import data_dir
    from goalsets.data.propose.actions import recognise_actions

    chosen = read_layout(layout) if layout is not None else known_layout(source)
    output = output or data_dir() / default_store_name(source)
    with _Counter(source.describe()) as counter:
        imported = import_source(
            source,
            output,
            chosen,
            hold_out=hold_out,
            action_low=action_low,
            action_high=action_high,
            action_switches=action_switches,
            units=_units(units),
            progress=counter.update,
        )
    for notice in source.notices:
        print(f"note: {notice}")
    store = imported.store
    train, validation = store.train, store.validation
    print(
        f"{output}: {train.num_episodes} episodes to train on ({train.num_transitions:,} "
        f"transitions), {validation.num_episodes} to validate."
    )
    print(f"actions within {store.bounds}, {store.bounds.origin_in_words}")
    for text in recognise_actions(train, store.bounds.switches):
        print(f"note: {text}")
    proposed = write_proposal(imported)
    if imported.proposal is not None:
        offers = imported.proposal.offers
        print(f"proposed a layout with {len(imported.proposal.layout.groups)} groups: {proposed}")
        print(f"  it offers {len(offers)} changes. Edit it, then import again with --layout.")
    print(f"next: goalsets data inspect {output}")


def _units(pairs: Sequence[str]) -> dict[str, str]:
    """Read pairs such as `joint*=deg` into a unit for each pattern of group names."""
    from goalsets.core import GoalsetsError

    units: dict[str, str] = {}
    for pair in pairs:
        name, equals, unit = pair.partition("=")
        if not (name and equals and unit):
            raise GoalsetsError(f"--units takes pairs such as joint*=deg, got {pair!r}.")
        units[name] = unit
    return units


class _Counter:
    """Shows on a terminal how many episodes have been read; silent elsewhere."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> _Counter:
        from rich.console import Console
        from rich.status import Status

        console = Console(file=sys.stderr)
        self._status = (
            Status(f"reading {self.what}", console=console) if console.is_terminal else None
        )
        if self._status is not None:
            self._status.start()
        return self

    def update(self, episodes: int, transitions: int) -> None:
        if self._status is not None:
            self._status.update(f"{self.what}: {episodes:,} episodes, {transitions:,} transitions")

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
