"""`goalsets distance`: the distances that runs predict along a rollout or a recorded episode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from goalsets.cli.counts import Count, OptionalCount, OptionalSize

if TYPE_CHECKING:
    from goalsets.evaluate.distance import Rollout
    from goalsets.runs.run import Run


def distance(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    query: tuple[str, ...] = (),
    task_id: OptionalCount = None,
    attempts: Count = 10,
    episode: OptionalSize = None,
    data: Path | None = None,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("distance.png"),
) -> None:
    """Draw the distances that runs predict along one successful rollout of the official task.

    Give a HER-Full, a HER-Task and a GS-HER run to draw the paper's figure. The numbers are
    written as a CSV file beside the picture. Each run also records its predictions in its
    evaluations.jsonl, for 'goalsets report'. GCDL predicts steps. The values of GCIVL and GCIQL are
    converted to steps.

    Runs on logs of your own have no simulator: their distances are drawn along a held-out episode,
    with its last state as the goal. With --episode, any run is drawn this way.

    Args:
        runs: Run directories of one task; the rollout is by the first run that solves it.
        query: More queries for runs that take one, such as --query all "block0_pos & eff_pos".
        task_id: The official task of the rollout, from 1 on; by default any that succeeds.
        attempts: Episodes to try with each run until one succeeds.
        episode: Use this held-out episode, from 0 on, instead of a rollout. Runs without a
            simulator use 0 by default.
        data: The store of that episode; by default the one that the first run was trained on.
        output: The picture.
    """
    from goalsets.core import GoalsetsError, Query
    from goalsets.envs.tasks import TASKS
    from goalsets.evaluate.distance import (
        draw_curves,
        predict_along,
        record_curves,
        successful_rollout,
        write_curves,
    )
    from goalsets.runs.run import Run

    opened = [Run.open(path) for path in runs]
    if not opened:
        raise GoalsetsError("name at least one run directory.")
    for run in opened:  # before anything runs for minutes
        for text in query:
            Query.parse(text, run.frame.layout)
        if run.distance_unit is None:
            raise GoalsetsError(f"{run.path}: {run.config.learner} learns no distance.")
    simulated = any(run.config.task in TASKS for run in opened)
    recorded = not simulated or episode is not None or data is not None
    if recorded:
        rollout = _recorded(opened, task_id, episode or 0, data)
        official = opened[0].frame.layout.task is not None
    else:
        rollout = successful_rollout(opened, task_id=task_id, attempts=attempts)
        official = True
    steps = len(rollout.observations) - 1
    made = f"of {rollout.by}" if recorded else f"by {rollout.by}"
    print(f"{rollout.title}, {made}: {steps} steps")
    curves = predict_along(opened, rollout, query, official=official)
    width = max(len(curve.label) for curve in curves)
    for curve in curves:
        first, last = curve.distances[0], curve.distances[-1]
        print(f"  {curve.label:{width}}  {first:6.1f} at the start, {last:6.1f} at the goal")
    output.parent.mkdir(parents=True, exist_ok=True)
    draw_curves(curves, rollout, str(opened[0].distance_unit), output)
    write_curves(curves, output.with_suffix(".csv"))
    # Reports compare rollouts of a task; a recorded episode is not a rollout.
    for reason in [] if recorded else record_curves(curves, rollout):
        print(f"note: not recorded: {reason}")
    print(f"picture: {output}, numbers: {output.with_suffix('.csv')}")


def _recorded(runs: Sequence[Run], task_id: int | None, episode: int, data: Path | None) -> Rollout:
    """A recorded episode of the data that all runs were trained on."""
    from goalsets.cli.posing import run_store
    from goalsets.core import GoalsetsError
    from goalsets.evaluate.distance import recorded_rollout

    if task_id is not None:
        raise GoalsetsError(
            "a recorded episode belongs to no official task: leave out --task-id, and choose an "
            "episode with --episode."
        )
    layout = runs[0].frame.layout
    for run in runs:
        if run.frame.layout != layout:
            raise GoalsetsError(
                f"{run.path} and {runs[0].path} have different layouts, so their distances cannot "
                "be compared along one episode. Draw them one by one."
            )
    store = run_store(runs[0], data)
    if store.trajectories.observations.shape[1] != layout.dim:
        raise GoalsetsError(
            f"{store.path} has states of {store.trajectories.observations.shape[1]} coordinates, "
            f"the runs are for {layout.dim}. Name the store of their data with --data."
        )
    return recorded_rollout(store, episode)
