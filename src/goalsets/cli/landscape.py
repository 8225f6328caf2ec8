"""`goalsets landscape`: what runs predict over a plane of states, kept for reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro


def landscape(runs: Annotated[tuple[Path, ...], tyro.conf.Positional]) -> None:
    """Keep the value landscapes of runs, so that reports can draw them without the weights.

    For tasks whose states can be laid out in a plane, and for learners with a value: the distance
    to one official goal that the last weights predict over the plane, under each of a few queries.
    It is kept in the run directory, some tens of kilobytes. 'goalsets report' draws it; of runs
    that have their weights it draws it anyway.

    Args:
        runs: Run directories.
    """
    from goalsets.core import GoalsetsError
    from goalsets.evaluate.landscape import LANDSCAPE, keep_landscape
    from goalsets.runs.run import Run

    if not runs:
        raise GoalsetsError("name at least one run directory.")
    for run in [Run.open(path) for path in runs]:
        if run.shipped:
            raise GoalsetsError(
                f"{run.path.name!r} comes with goalsets and keeps no new files: copy it to a place "
                "of yours."
            )
        found = keep_landscape(run)
        print(f"{run.path / LANDSCAPE}: {', '.join(found.queries)}, after step {found.step:,}")
