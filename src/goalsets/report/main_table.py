"""The main table: learner × task × scheme, ours with the paper's number and the difference."""

from __future__ import annotations

from goalsets.report import budget
from goalsets.report.results import Cell, Results
from goalsets.report.tables import MISSING, Entry, Record, Table, points

NEAR_BEST = 0.95
"""A scheme is bold if it has at least this share of the best in its row."""


def main_table(results: Results) -> Table:
    """Make the table; a cell without runs is marked as missing."""
    rows: list[list[Entry]] = []
    for task, learner, variant in results.rows:
        cells = [results.get(task, learner, scheme, variant) for scheme in results.schemes]
        best = max((cell.mean for cell in cells if cell is not None), default=0.0)
        alone = sum(cell is not None for cell in cells) < 2
        rows.append(
            [
                Entry(learner),
                Entry(task, note=variant, code=True),
                *(_entry(cell, best, alone) for cell in cells),
            ]
        )
    return Table(
        name="main",
        title="Official success",
        caption=(
            "Success in percent on the five official goals, mean ± standard deviation over seeds; "
            f"in bold what has at least {NEAR_BEST:.0%} of the best of its row. In small: the "
            f"paper's number, and ours less the paper's. {MISSING}: no run. "
            + budget.scores(results.cells.values())
        ),
        columns=["learner", "task", *results.schemes],
        rows=rows,
        records=[_record(results.cells[key]) for key in sorted(results.cells)],
        left=2,
    )


def _entry(cell: Cell | None, best: float, alone: bool) -> Entry:
    if cell is None:
        return Entry(MISSING)
    near = cell.mean >= NEAR_BEST * best and best > 0 and not alone
    paper = cell.published
    note = "" if paper is None else f"paper {paper}, {points(cell.mean - paper.mean)}"
    return Entry(describe(cell.mean, cell.std), note, near)


def describe(mean: float, std: float | None) -> str:
    """Such as `97 ± 2`, or `97†` for a single seed."""
    return f"{mean:.0f}†" if std is None else f"{mean:.0f} ± {std:.0f}"


def _record(cell: Cell) -> Record:
    low, high = cell.interval
    first = cell.scored[0]
    paper = cell.published
    return {
        "task": cell.task,
        "learner": cell.learner,
        "scheme": cell.scheme,
        "variant": cell.variant,
        "seeds": len(cell.scored),
        "mean": cell.mean,
        "std": cell.std,
        "low": low,
        "high": high,
        "evaluations": len(first.points),
        "episodes": first.last.episodes,
        "steps": first.run.config.steps,
        "batch": first.run.config.batch_size,
        "data_episodes": first.run.data.get("episodes"),
        "data_transitions": first.run.data.get("transitions"),
        "paper_mean": None if paper is None else paper.mean,
        "paper_std": None if paper is None else paper.std,
        "difference": None if paper is None else cell.mean - paper.mean,
    }
