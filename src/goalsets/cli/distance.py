"""`goalsets distance`: what runs predict along one successful rollout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from goalsets.cli.counts import Count, OptionalCount


def distance(
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    query: tuple[str, ...] = (),
    task_id: OptionalCount = None,
    attempts: Count = 10,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("distance.png"),
) -> None:
    """Draw the distances that runs predict along one successful rollout of the official task.

    Give a HER-Full, a HER-Task and a GS-HER run to draw the paper's figure. The picture comes with
    its numbers, as a CSV file beside it, and each run keeps what it predicted in its
    evaluations.jsonl, for 'goalsets report'. GCDL's distances are steps; those of GCIVL and GCIQL
    are steps that their values stand for.

    Args:
        runs: Run directories of one task; the rollout is of the first that solves it.
        query: Further queries for runs that hear one, such as --query all "block0_pos & eff_pos".
        task_id: The official task of the rollout, from 1 on; any that succeeds unless given.
        attempts: Episodes to try with each run until one succeeds.
        output: The picture.
    """
    from goalsets.core import GoalsetsError, Query
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
    rollout = successful_rollout(opened, task_id=task_id, attempts=attempts)
    steps = len(rollout.observations) - 1
    print(f"rollout of task {rollout.task_id}, seed {rollout.seed}, by {rollout.by}: {steps} steps")
    curves = predict_along(opened, rollout, query)
    width = max(len(curve.label) for curve in curves)
    for curve in curves:
        first, last = curve.distances[0], curve.distances[-1]
        print(f"  {curve.label:{width}}  {first:6.1f} at the start, {last:6.1f} at the goal")
    output.parent.mkdir(parents=True, exist_ok=True)
    draw_curves(curves, rollout, str(opened[0].distance_unit), output)
    write_curves(curves, output.with_suffix(".csv"))
    for reason in record_curves(curves, rollout):
        print(f"note: not recorded: {reason}")
    print(f"picture: {output}, numbers: {output.with_suffix('.csv')}")
