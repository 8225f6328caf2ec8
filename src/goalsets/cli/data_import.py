"""`goalsets data import`: any robot log becomes a store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from goalsets.data.sources import SOURCES, Source, default_store_name, known_layout


def verb() -> Callable[..., None]:
    """The command with a choice of all sources, those of plugins among them."""
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
    units: tuple[str, ...] = (),
) -> None:
    """Read a log and write a store that goalsets can train on, look into and query.

    Args:
        source: What to read: 'goalsets data import hdf5 --help' tells about one of them.
        output: The store, a directory of its own; by default in $GOALSETS_DATA or
            ~/.goalsets/data, under the log's name. An existing store is replaced at the end.
        layout: A layout file (YAML or JSON) that names the coordinates of the states. Without it
            one is proposed from the log's own names, written beside the store, and used; what
            the data suggests beyond that stands in the file as comments.
        hold_out: The share of episodes for validation where the log sets none apart.
        action_low: The smallest action that a policy may take, in the log's own units: one number
            for all components, or one for each. By default that of the action space where the log
            declares one, else what the log shows and a tenth of its range more.
        action_high: The largest.
        units: Physical units of groups, such as "joint*=deg" tool=m; a star stands for anything.
            Questions may then say joint_2:5deg, and distances are told in that unit.
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
    for text in recognise_actions(train):
        print(f"note: {text}")
    proposed = write_proposal(imported)
    if imported.proposal is not None:
        offers = imported.proposal.offers
        print(f"proposed a layout with {len(imported.proposal.layout.groups)} groups: {proposed}")
        print(f"  it offers {len(offers)} changes. Edit it, then import again with --layout.")
    print(f"next: goalsets data inspect {output}")


def _units(pairs: Sequence[str]) -> dict[str, str]:
    """Turn `joint*=deg` into a unit by the name of its groups."""
    from goalsets.core import GoalsetsError

    units: dict[str, str] = {}
    for pair in pairs:
        name, equals, unit = pair.partition("=")
        if not (name and equals and unit):
            raise GoalsetsError(f"--units takes pairs such as joint*=deg, got {pair!r}.")
        units[name] = unit
    return units


class _Counter:
    """How many episodes have been read: live on a terminal, silent elsewhere."""

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
