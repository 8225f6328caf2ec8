"""A run's planner: kept in its directory, and learned from its data the first time.

A planner that was learned from other data than the run is never used in silence: who names a store
is told that it is another, and a store that nobody named is refused.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from goalsets.core import GoalsetsError, StateLayout
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.plan import Planner, read_planner, write_planner
from goalsets.plan.parts import Floats, Rows
from goalsets.plan.planner import check_layout
from goalsets.plan.planner_file import PLANNER, PlannerFileError
from goalsets.workers import silence

if TYPE_CHECKING:
    from goalsets.runs.run import Run

WAIT = 10
"""Steps for which a part is still asked for when it has arrived, if a run was trained for so many:
enough to let go of a cube."""
MOST_STATES = 1_000_000
"""A planner is learned from about so many states at the most: more teach it nothing new, and data
on disk need not fit into memory."""


def planner_of(
    run: Run,
    store: Store | str | Path | None = None,
    *,
    again: bool = False,
    say: Callable[[str], None] = silence,
) -> Planner:
    """The planner of a run: the one in its directory, or one that is learned now and kept there.

    A model that comes with goalsets is not written to: its planner is learned each time, unless it
    comes with one.

    Args:
        run: The run.
        store: Data to learn from, or its directory. Unless given, the data of the run's task, which
            must then be what the run was trained on; it is looked for only if there is no planner.
        again: Learn even if there is a planner.
        say: Told that it learns, which takes seconds, and what somebody should know of the data.

    Raises:
        PlannerFileError: The planner in the directory cannot be read.
    """
    path = run.path / PLANNER
    named = store if store is None or isinstance(store, Store) else Store.open(store, mapped=True)
    if path.exists() and not again:
        planner = _read(path, run)
        if named is None or planner.data == named.fingerprint:
            return _told(planner, path, run, say)
        say(f"{path} was learned from other data: it is learned anew.")
    data = named or _own_store(run)
    planner = learn_planner(run.frame.layout, data, say)
    planner = dataclasses.replace(planner, wait=min(run.config.linger, WAIT))
    if not run.shipped:
        write_planner(planner, path)
    return _told(planner, data.path, run, say)


def kept_planner(run: Run) -> Planner | None:
    """The planner in a run's directory; None where there is none. Nothing is learned."""
    path = run.path / PLANNER
    return _read(path, run) if path.exists() else None


def learn_planner(
    layout: StateLayout, store: Store, say: Callable[[str], None] = silence
) -> Planner:
    """Learn a planner from the training episodes of a store."""
    train = store.train
    if train.observations.shape[1] != layout.dim:
        raise GoalsetsError(
            f"{store.path} has states of {train.observations.shape[1]} coordinates, the policy is "
            f"for {layout.dim}: no planner can be learned from it."
        )
    observations, offsets = _enough(train, MOST_STATES)
    of = "" if len(offsets) > train.num_episodes else f" of {train.num_episodes:,}"
    say(
        f"learning a planner from {len(offsets) - 1:,}{of} episodes, {len(observations):,} states; "
        "this takes a few seconds"
    )
    start = time.perf_counter()
    planner = Planner.learn(layout, observations, offsets)
    say(
        f"learned a planner in {time.perf_counter() - start:.1f} seconds: {len(planner.moves):,} "
        f"moves of {len(planner.parts)} parts, {len(planner.roads)} road maps"
    )
    return dataclasses.replace(planner, data=store.fingerprint)


def _enough(train: Trajectories, most: int) -> tuple[Floats, Rows]:
    """States `[R, D]` and where their episodes begin: all, or evenly spread episodes of many."""
    if train.num_states <= most:
        return train.observations, train.offsets
    every = -(-train.num_states // most)
    chosen = range(0, train.num_episodes, every)
    pieces = [train.observations[train.offsets[e] : train.offsets[e + 1]] for e in chosen]
    return np.concatenate(pieces), np.cumsum([0, *(len(piece) for piece in pieces)])


def _read(path: Path, run: Run) -> Planner:
    try:
        planner = read_planner(path)
    except PlannerFileError as error:
        raise PlannerFileError(
            f"{error} Remove it, and it is learned from the data again."
        ) from None
    check_layout(planner, run.frame.layout)
    return planner


def _told(planner: Planner, place: Path, run: Run, say: Callable[[str], None]) -> Planner:
    """Say so where a planner knows other data than the run."""
    if planner.data != run.data["fingerprint"]:
        which = f"other data (fingerprint {planner.data[:8]})" if planner.data else "unknown data"
        say(
            f"note: the planner in {place} is of {which}; {run.path} was trained on "
            f"{run.data['fingerprint'][:8]}."
        )
    return planner


def _own_store(run: Run) -> Store:
    """The data of the run's task, which nobody named: it must be the run's."""
    from goalsets.collect.find import find_store  # with environments, which nothing else here needs

    try:
        store = find_store(run.config.task)
    except GoalsetsError as error:
        raise GoalsetsError(
            f"{run.path} has no {PLANNER}, and no data to learn one from is here: {error}"
        ) from None
    if store.fingerprint != run.data["fingerprint"]:
        raise GoalsetsError(
            f"{run.path} has no {PLANNER}, and the data in {store.path} is not what it was trained "
            f"on (fingerprint {store.fingerprint[:8]}, not {run.data['fingerprint'][:8]}). Name a "
            "store to learn from: --data STORE, or planning(store) in Python. This one, too, can "
            "be named."
        )
    return store
