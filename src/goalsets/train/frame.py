"""The frame of a new run: its layout, normaliser, horizon and bounds of actions."""

from __future__ import annotations

from goalsets.core import GoalsetsError, StateLayout
from goalsets.data.bounds import Bounds, Limits, Seen
from goalsets.data.horizon import usual_horizon
from goalsets.data.normaliser import Normaliser
from goalsets.data.store import Store
from goalsets.envs.task import Task
from goalsets.envs.tasks import TASKS
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame


def make_frame(config: TrainConfig, store: Store) -> Frame:
    """The frame of a run: the task's layout and horizon, or those of the store."""
    layout = store.layout
    task = TASKS[config.task] if config.task in TASKS else None  # noqa: SIM401
    if task is not None:
        _check_fits(store, task.layout)
        layout = task.layout
    if layout is None:
        raise GoalsetsError(
            f"{store.path} has no layout, so queries cannot name groups. Import the data again, "
            "or use goalsets.data.from_episodes: both propose a layout."
        )
    if store.train.num_transitions < 1:
        raise GoalsetsError(f"{store.path} has no transitions to train on.")
    horizon = config.horizon or (
        task.relabel_horizon if task is not None else usual_horizon(store.train, layout)
    )
    normaliser = Normaliser.fit(store.train)
    return Frame(layout, normaliser, horizon, choose_bounds(config, store, task))


def choose_bounds(config: TrainConfig, store: Store, task: Task | None) -> Bounds:
    """Choose the bounds of actions, and the components that are switches.

    In this order: those of the configuration, those that a user set in the store, those of the
    environment's action space, and those of the data. The values of a switch come from the data.
    """
    known = store.bounds
    space = None
    if task is not None and known.origin != "given":
        space = task.action_bounds(len(known.low))
    switches = config.action_switches
    seen = Seen.of(store.train) if switches else None
    return Limits(space, config.action_low, config.action_high, switches).bounds(known, seen)


def _check_fits(store: Store, layout: StateLayout) -> None:
    dim = store.trajectories.observations.shape[1]
    if dim != layout.dim:
        raise GoalsetsError(
            f"{store.path} has states of {dim} coordinates, but layout {layout.name!r} has "
            f"{layout.dim}: name data of the same task."
        )
