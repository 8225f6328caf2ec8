"""A run's planner: it is stored in the run's directory, and learned from the data the first time.

If a planner was learned from other data than the run, there is always a message: a note if the user
named the data, and an error otherwise.
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
"""The most steps for which a part is still asked for after it has arrived; a run must have been
trained with as many steps of `linger`. Ten steps are enough to release a cube."""
MOST_STATES = 1_000_000
"""A planner is learned from at most about this many states. More would not improve it, and large
data need not fit into memory."""


def planner_of(
    run: Run,
    store: Store | str | Path | None = None,
    *,
    again: bool = False,
    say: Callable[[str], None] = silence,
) -> Planner:
    """The planner of a run: the one in its directory, or one that is learned now and stored there.

    Nothing is written to a model that comes with goalsets: if it has no planner, one is learned
    each time.

    Args:
        run: The run.
        store: The data to learn from, or its directory. By default the data of the run's task,
            which must be the data that the run was trained on. It is needed only if there is no
            planner.
        again: Learn a planner even if there is one.
        say: Called with messages about the learning, which takes seconds, and about the data.

    Raises:
        PlannerFileError: The planner in the directory cannot be read.
    """
    path = run.path / PLANNER
    named = store if store is None or isinstance(store, Store) else Store.open(store, mapped=True)
    if path.exists() and not again:
        planner = _read(path, run)
        if named is None or planner.data == named.fingerprint:
            return _told(planner, path, run, say)
        say(f"{path} was learned from other data: it is learned again.")
    data = named or _own_store(run)
    planner = learn_planner(run.frame.layout, data, say)
    planner = dataclasses.replace(planner, wait=min(run.config.linger, WAIT))
    if not run.shipped:
        write_planner(planner, path)
    return _told(planner, data.path, run, say)


def kept_planner(run: Run) -> Planner | None:
    """The planner in a run's directory; None if there is none. Nothing is learned."""
    path = run.path / PLANNER
    return _read(path, run) if path.exists() else None


def learn_planner(
    layout: StateLayout, store: Store, say: Callable[[str], None] = silence
) -> Planner:
    """Learn a planner from the training episodes of a store."""
    train = store.train
    if train.observations.shape[1] != layout.dim:
        raise GoalsetsError(
            f"{store.path} has states of {train.observations.shape[1]} coordinates, but the policy "
            f"needs {layout.dim}: name data of the same task to learn a planner."
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
    """States `[R, D]` and the rows at which episodes begin; of many, evenly spread episodes."""
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
            f"{error} Remove the file, and the planner is learned from the data again."
        ) from None
    check_layout(planner, run.frame.layout)
    return planner


def _told(planner: Planner, place: Path, run: Run, say: Callable[[str], None]) -> Planner:
    """Add a note if a planner was learned from other data than the run."""
    if planner.data != run.data["fingerprint"]:
        which = f"other data (fingerprint {planner.data[:8]})" if planner.data else "unknown data"
        say(
            f"note: the planner in {place} was learned from {which}; {run.path} was trained on "
            f"{run.data['fingerprint'][:8]}."
        )
    return planner


def _own_store(run: Run) -> Store:
    """The data of the run's task; it must be the data that the run was trained on."""
    from goalsets.collect.find import find_store  # imports environments, which only this needs

    try:
        store = find_store(run.config.task)
    except GoalsetsError as error:
        raise GoalsetsError(
            f"{run.path} has no {PLANNER}, and there is no data to learn one from: {error}"
        ) from None
    if store.fingerprint != run.data["fingerprint"]:
        raise GoalsetsError(
            f"{run.path} has no {PLANNER}, and the data in {store.path} is not the data that it "
            f"was trained on (fingerprint {store.fingerprint[:8]}, not "
            f"{run.data['fingerprint'][:8]}). To learn from this or another store, name it: "
            "--data STORE, or planning(store) in Python."
        )
    return store
