"""`goalsets data import`: any robot log becomes a store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import tyro

from goalsets.core import StateLayout
from goalsets.data.sources import Hdf5, LeRobot, Minari, Npz, OGBench

AnySource = (
    Annotated[Npz, tyro.conf.subcommand("npz")]
    | Annotated[OGBench, tyro.conf.subcommand("ogbench")]
    | Annotated[Hdf5, tyro.conf.subcommand("hdf5")]
    | Annotated[Minari, tyro.conf.subcommand("minari")]
    | Annotated[LeRobot, tyro.conf.subcommand("lerobot")]
)


def import_(
    source: tyro.conf.PositionalRequiredArgs[AnySource],
    output: Path | None = None,
    layout: Path | None = None,
    hold_out: float = 0.1,
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
    """
    from goalsets.core import read_layout
    from goalsets.data.importing import import_source

    chosen = read_layout(layout) if layout is not None else _known_layout(source)
    output = output or _default_output(source)
    with _Counter(source.describe()) as counter:
        imported = import_source(source, output, chosen, hold_out=hold_out, progress=counter.update)
    for notice in source.notices:
        print(f"note: {notice}")
    store = imported.store
    train, validation = store.train, store.validation
    print(
        f"{output}: {train.num_episodes} episodes to train on ({train.num_transitions:,} "
        f"transitions), {validation.num_episodes} to validate."
    )
    if imported.proposal is not None:
        proposed = output.with_name(output.name + ".layout.yaml")
        proposed.write_text(imported.proposal.to_yaml(), encoding="utf-8")
        offers = [offer for offer in imported.proposal.offers if offer.kind != "tolerance"]
        print(f"proposed a layout with {len(imported.proposal.layout.groups)} groups: {proposed}")
        print(f"  it offers {len(offers)} changes. Edit it, then import again with --layout.")
    print(f"next: goalsets data inspect {output}")


def _known_layout(source: Any) -> StateLayout | None:  # noqa: ANN401 - any of the sources
    """The layout of a task, where an OGBench data set is one that we know."""
    from goalsets.envs.tasks import TASKS

    if isinstance(source, OGBench) and source.name in TASKS:
        return TASKS[source.name].layout
    return None


def _default_output(source: Any) -> Path:  # noqa: ANN401 - any of the sources
    from goalsets.data.paths import data_dir

    place = next(
        getattr(source, key) for key in ("name", "path", "dataset") if hasattr(source, key)
    )
    return data_dir() / Path(place).stem


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
