"""`goalsets landscape`: record the distances that runs predict over a plane of states."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro


def landscape(runs: Annotated[tuple[Path, ...], tyro.conf.Positional]) -> None:
    """Record the value landscapes of runs, so that reports can draw them without the weights.

    A value landscape is the distance to one official goal, predicted over a plane of states, for
    each of a few queries. It needs a task with such a plane and a learner with a value. It is
    written into the run directory and takes some tens of kilobytes. 'goalsets report' draws it. If
    a run still has its weights, the report does not need this command.

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
                f"{run.path.name!r} comes with goalsets and is read-only: copy it to a directory "
                "of your own, and name the copy."
            )
        found = keep_landscape(run)
        print(f"{run.path / LANDSCAPE}: {', '.join(found.queries)}, after step {found.step:,}")
