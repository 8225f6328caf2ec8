"""Writes the episodes of a source to a store, with a layout, splits and notices."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError, StateLayout
from goalsets.core.errors import suggest
from goalsets.core.metrics import UNITS
from goalsets.data.bounds import Limits
from goalsets.data.propose import Proposal, propose_layout
from goalsets.data.sources import Source, known_action_space, known_rate
from goalsets.data.store import Split, Store
from goalsets.data.writer import StoreWriter

SAMPLE_STATES = 50_000
"""How many states are read to propose a layout."""

NO_UNITS: Mapping[str, str] = {}
Progress = Callable[[int, int], None]
"""Called after each episode with the number of episodes and of transitions so far."""


@dataclass(frozen=True)
class Imported:
    """A store that was written, and the proposal for its layout if none was given."""

    store: Store
    proposal: Proposal | None


def import_source(  # noqa: PLR0913 - each argument is one fact about the data
    source: Source,
    path: str | Path,
    layout: StateLayout | None = None,
    *,
    hold_out: float = 0.1,
    action_low: Sequence[float] | None = None,
    action_high: Sequence[float] | None = None,
    action_switches: Sequence[int] | None = None,
    units: Mapping[str, str] = NO_UNITS,
    progress: Progress | None = None,
) -> Imported:
    """Read a source episode by episode and write a store.

    Args:
        source: Where the episodes come from.
        path: The store's directory.
        layout: The layout of the states; None proposes one from a sample of them.
        hold_out: The share of episodes for validation, if the source has no validation episodes.
        action_low: The smallest action: one number for all components, or one for each. Without
            it, the source's action space decides, or else the data.
        action_high: The largest action, given in the same way.
        action_switches: Components of actions, counted from 0, that have two values in the data. A
            policy then answers only these two values.
        units: Physical units of groups by name, such as `{"joint*": "deg"}`; a star matches any
            text.
        progress: Called after every episode.
    """
    if not 0 <= hold_out < 1:
        raise GoalsetsError(
            f"the share to hold out must be at least 0 and below 1, got {hold_out}."
        )
    proposal = None
    limits = Limits(known_action_space(source), action_low, action_high, action_switches)
    known = None if layout is None else with_units(layout, units)
    # Enter the writer before anything is read, so that missing permissions raise an error at once.
    with StoreWriter(path, known, source.describe(), known_rate(source), limits) as writer:
        if known is None:
            sample, starts = _sample(source)
            proposal = propose_layout(source.fields(), sample, Path(path).name, starts=starts)
            proposal = dataclasses.replace(proposal, layout=with_units(proposal.layout, units))
            writer.layout = proposal.layout
        transitions = 0
        for number, (split, episode) in enumerate(_splits(source, hold_out), start=1):
            writer.add(episode, split)
            transitions += len(episode)
            if progress is not None:
                progress(number, transitions)
        store = writer.finish(source.notices)
    return Imported(store, proposal)


def with_units(layout: StateLayout, units: Mapping[str, str]) -> StateLayout:
    """A layout with the units of some groups, named by patterns such as `joint*`."""
    groups = list(layout.groups)
    for pattern, unit in units.items():
        if unit not in UNITS:
            raise GoalsetsError(f"unknown unit {unit!r}: {suggest(unit, UNITS)}")
        meant = [place for place, g in enumerate(groups) if fnmatch.fnmatchcase(g.name, pattern)]
        if not meant:
            raise GoalsetsError(
                f"no group is named {pattern!r}: {suggest(pattern, layout.by_name)}"
            )
        for place in meant:
            groups[place] = dataclasses.replace(groups[place], unit=unit)
    return dataclasses.replace(layout, groups=groups)


def write_proposal(imported: Imported) -> Path | None:
    """Write the proposed layout and its offers beside the store; None if a layout was given."""
    if imported.proposal is None:
        return None
    store = imported.store.path
    path = store.with_name(store.name + ".layout.yaml")
    path.write_text(imported.proposal.to_yaml(), encoding="utf-8")
    return path


def _splits(source: Source, share: float) -> Iterator[tuple[Split, Episode]]:
    """Episodes for training, then those for validation, in the order of a store."""
    if source.has_validation:
        for episode in source.episodes("train"):
            yield "train", episode
        for episode in source.episodes("validation"):
            yield "validation", episode
        return
    # The source has no validation episodes: hold out evenly spread ones. Reading the source twice
    # keeps memory small.
    for index, episode in enumerate(source.episodes("train")):
        if not _held_out(index, share):
            yield "train", episode
    if share > 0:
        for index, episode in enumerate(source.episodes("train")):
            if _held_out(index, share):
                yield "validation", episode


def _held_out(index: int, share: float) -> bool:
    """Whether an episode is held out: the running count of held-out episodes grows there."""
    return int((index + 1) * share) > int(index * share)


def _sample(source: Source) -> tuple[NDArray[np.float32], list[int]]:
    """The first states of a source, and the rows at which episodes begin."""
    parts: list[NDArray[np.float32]] = []
    starts: list[int] = []
    total = 0
    for episode in source.episodes("train"):
        parts.append(episode.observations.astype(np.float32, copy=False))
        starts.append(total)
        total += len(episode.observations)
        if total >= SAMPLE_STATES:
            break
    if not parts:
        raise GoalsetsError(f"{source.describe()} has no episodes.")
    return np.concatenate(parts), starts
