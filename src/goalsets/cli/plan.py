"""`goalsets plan`: the chain of questions that leads to a goal, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro


def plan(
    run: Annotated[Path, tyro.conf.Positional],
    query: str = "task",
    goal: str | None = None,
    set: tuple[str, ...] = (),  # noqa: A002 - what people type
    task_id: int = 1,
    seed: int = 0,
    data: Path | None = None,
    again: bool = False,
) -> None:
    """Print the chain of questions that leads to a goal, and run nothing.

    A planner knows what moves in the data, by how many steps, and what else held while it did. It
    finds a chain of questions, each about a part, that leads from a start to a goal: what is in the
    way is put aside first. Where there is none, it says which move the data does not show. Ask it
    with 'goalsets ask RUN --plan'. The first time, the planner is learned from the data, which
    takes a few seconds, and is kept in the run directory.

    Args:
        run: A run directory, or demo, the model that comes with goalsets.
        query: What defines success, such as "block0_pos & block1_pos".
        goal: The reference, as for 'goalsets ask': task, task:3, bank:17, a condition, or a file.
        set: Edits of the reference, such as block0_pos=0.4,0.1,0.02 or eff_pos.z=6cm.
        task_id: The official task that the episode starts from, counted from 1.
        seed: Decides the start within it, and which state a condition finds.
        data: The store to learn from; by default the one in $GOALSETS_DATA or ~/.goalsets/data
            under the task's name.
        again: Learn the planner anew, even if the run has one.
    """
    import time

    from goalsets.cli.posing import pose
    from goalsets.cli.printing import print_plan, say_aside

    posed = pose(run, query, goal, set, task_id, seed, data)
    store = posed.store if data is not None else None
    planner = posed.run.planner(store, again=again, say=say_aside)
    start = time.perf_counter()
    found = planner.plan(posed.first, posed.goals)
    seconds = time.perf_counter() - start
    print(f"start      of task {task_id}, seed {seed}")
    print_plan(found)
    print(f"found in   {1000 * seconds:.0f} ms" if found.found else f"sought for {seconds:.1f} s")
