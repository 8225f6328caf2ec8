"""Across tasks: the interquartile mean of each learner and scheme, on their common tasks."""

from __future__ import annotations

from goalsets.report import budget
from goalsets.report.results import Results
from goalsets.report.statistics import interquartile_interval, interquartile_mean
from goalsets.report.tables import MISSING, Entry, Record, Table


def aggregate_table(results: Results) -> Table | None:
    """Make the table; None if no learner has two tasks to aggregate over.

    The schemes of a learner are compared only on tasks that have all of them. Otherwise a scheme
    with easier tasks would have a higher mean.
    """
    rows: list[list[Entry]] = []
    records: list[Record] = []
    used = []
    for learner in results.learners:
        schemes = [s for s in results.schemes if any(_has(results, learner, s))]
        tasks = [t for t in results.tasks if all(results.get(t, learner, s) for s in schemes)]
        if len(tasks) < 2:
            continue
        entries: list[Entry] = []
        for scheme in results.schemes:
            cells = [results.get(task, learner, scheme) for task in tasks]
            scores = {cell.task: cell.scores for cell in cells if cell is not None}
            if not scores:
                entries.append(Entry(MISSING))
                continue
            used += [cell for cell in cells if cell is not None]
            value = interquartile_mean(scores)
            interval = interquartile_interval(scores)
            shown = "" if interval is None else f" [{interval[0]:.0f}, {interval[1]:.0f}]"
            entries.append(Entry(f"{value:.0f}{shown}" + ("†" if interval is None else "")))
            records.append(
                {
                    "learner": learner,
                    "scheme": scheme,
                    "tasks": " ".join(tasks),
                    "interquartile_mean": value,
                    "low": None if interval is None else interval[0],
                    "high": None if interval is None else interval[1],
                }
            )
        rows.append([Entry(learner), Entry(f"{len(tasks)}", note=", ".join(tasks)), *entries])
    if not rows:
        return None
    return Table(
        name="aggregate",
        title="Across tasks",
        caption=(
            "Interquartile mean of success in percent over tasks and seeds (the middle half of all "
            "scores, tasks weighing the same), on the tasks for which a learner has all of its "
            "schemes; 95 % intervals by the bootstrap over seeds within each task. †: no interval, "
            "because a task has a single seed. " + budget.scores(used)
        ),
        columns=["learner", "tasks", *results.schemes],
        rows=rows,
        records=records,
        left=2,
    )


def _has(results: Results, learner: str, scheme: str) -> list[bool]:
    return [results.get(task, learner, scheme) is not None for task in results.tasks]
