"""`goalsets plan`: the chain of questions that leads to a goal, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from goalsets.cli.counts import Count, Size


def plan(  # noqa: PLR0913, PLR0917 - the flags of a command
    run: Annotated[Path, tyro.conf.Positional],
    query: str = "task",
    goal: str | None = None,
    set: tuple[str, ...] = (),  # noqa: A002 - what people type
    task_id: Count = 1,
    seed: Size = 0,
    data: Path | None = None,
    again: bool = False,
    prices: Literal["data", "policy"] = "data",
) -> None:
    """Print the chain of questions that leads to a goal, without running it.

    A planner learns from the data which parts of the state move, how many steps a move takes, and
    what else must hold during the move. It then finds a chain of questions, each about one part,
    that leads from a start to a goal. Objects in the way are put aside first. If there is no chain,
    it says which move the data does not show. 'goalsets ask RUN --plan' runs the chain. The first
    time, the planner is learned from the data, which takes a few seconds, and is kept in the run
    directory.

    Args:
        run: A run directory, or a model that comes with goalsets: demo or two-cubes.
        query: What defines success, such as "block0_pos & block1_pos".
        goal: The reference, as for 'goalsets ask': task, task:3, bank:17, a condition, or a file.
        set: Edits of the reference, such as block0_pos=0.4,0.1,0.02 or eff_pos.z=6cm.
        task_id: The official task that the episode starts from, counted from 1.
        seed: The seed of the start, and of the state that a condition finds.
        data: The store to learn from; by default the one in $GOALSETS_DATA or ~/.goalsets/data
            under the task's name.
        again: Learn the planner again, even if the run has one.
        prices: What a move costs: the steps that it took in the data, or the steps that the
            policy's distance predicts. With policy, both totals are printed.
    """
    import time

    from goalsets.cli.posing import pose
    from goalsets.cli.printing import print_plan, say_aside
    from goalsets.core.durations import duration
    from goalsets.plan.policy import distance_of

    posed = pose(run, query, goal, set, task_id, seed, data)
    store = posed.store if data is not None else None
    planner = posed.run.planner(store, again=again, say=say_aside)
    start = time.perf_counter()
    distance = distance_of(posed.run.load()[0]) if prices == "policy" else None
    found = planner.plan(posed.first, posed.goals, distance=distance)
    seconds = time.perf_counter() - start
    print(f"start      of task {task_id}, seed {seed}")
    rate = posed.run.data.get("rate")
    print_plan(found, rate)
    if distance is not None and found.found:
        usual = duration(planner.plan(posed.first, posed.goals).price, rate)
        print(f"           by the data's prices the cheapest chain takes about {usual}")
    print(f"found in   {1000 * seconds:.0f} ms" if found.found else f"searched   {seconds:.1f} s")
