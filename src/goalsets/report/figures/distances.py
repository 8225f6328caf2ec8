"""Distances that runs predicted along a rollout, under different queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goalsets.evaluate.distance import frame_curves
from goalsets.learners import LEARNERS
from goalsets.report import budget
from goalsets.report.figures.drawing import Drawing, mark
from goalsets.report.reading import Note, RunRecord
from goalsets.report.results import Results
from goalsets.report.tables import Entry, Table, plain_name

_LINES = ("-", (0, (5, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (8, 2)))
"""Line styles by the number of the query, so that curves differ without colour."""


@dataclass(frozen=True)
class Predicted:
    """The predictions of one run along one rollout."""

    run: RunRecord
    rollout: Mapping[str, Any]
    curves: Sequence[tuple[str | None, Sequence[float]]]
    """Queries, and distances at every step."""

    def label(self, query: str | None) -> str:
        """Such as `gcdl gs-blockwise: block0_pos`."""
        config = self.run.config
        name = f"{config.learner} {config.scheme}, seed {config.seed}"
        return name if query is None else f"{name}: {query}"


def gather_distances(
    results: Results, notes: list[Note]
) -> dict[tuple[str, str, str], list[Predicted]]:
    """Predictions by task, rollout and unit; the last ones of a run along each rollout."""
    found: dict[tuple[str, str, str], dict[str, Predicted]] = {}
    for run in results.runs:
        for record in run.records("distance"):
            try:
                rollout = record["rollout"]
                curves = [
                    (c["query"], [float(d) for d in c["distances"]]) for c in record["curves"]
                ]
                key = (
                    run.task,
                    str(rollout["digest"]),
                    str(LEARNERS[run.config.learner].distance_unit),
                )
                if any(len(values) != int(rollout["steps"]) + 1 for _, values in curves):
                    raise ValueError("a curve is not as long as its rollout")
            except (KeyError, TypeError, ValueError) as error:
                notes.append(Note(str(run.path), f"a distance record is damaged: {error!r}."))
                continue
            found.setdefault(key, {})[str(run.path)] = Predicted(run, rollout, curves)
    return {key: list(by_run.values()) for key, by_run in sorted(found.items())}


def draw_distances(results: Results, notes: list[Note]) -> list[Drawing]:
    """Draw a figure for each rollout with predictions."""
    found = gather_distances(results, notes)
    return [
        _draw(task, digest, unit, predicted) for (task, digest, unit), predicted in found.items()
    ]


def distance_table(results: Results) -> Table:
    """All predictions, for the CSV file."""
    records = [
        {
            "task": task,
            "rollout": digest,
            "run": str(each.run.path),
            "learner": each.run.config.learner,
            "scheme": each.run.config.scheme,
            "seed": each.run.config.seed,
            "query": query,
            "unit": unit,
            "step": step,
            "distance": value,
        }
        for (task, digest, unit), predicted in gather_distances(results, []).items()
        for each in predicted
        for query, values in each.curves
        for step, value in enumerate(values)
    ]
    columns = ["task", "rollout", "run", "query", "step", "distance"]
    rows = [[Entry(str(record[name])) for name in columns] for record in records]
    return Table("distances", "Distances", "Every prediction.", columns, rows, records)


def _draw(task: str, digest: str, unit: str, predicted: Sequence[Predicted]) -> Drawing:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 4.0), layout="constrained")
    axis = figure.subplots()
    for each in predicted:
        look = mark(each.run.config.scheme)
        for number, (query, values) in enumerate(each.curves):
            every = max(1, len(values) // 8)
            axis.plot(
                values, color=look.colour, linestyle=_LINES[number % len(_LINES)], linewidth=1.6,
                marker=None if look.marker == "|" else look.marker, markevery=(number, every),
                markersize=5, label=each.label(query),
            )  # fmt: skip
    rollout = predicted[0].rollout
    frame_curves(axis, int(rollout["steps"]), unit)
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]) if unit == "steps" else None)
    axis.grid()
    axis.set_title(f"{task}, official task {rollout.get('task_id')}")
    figure.legend(loc="outside right upper", fontsize=8)
    figure.set_figwidth(9.2)
    runs = [each.run for each in predicted]
    return Drawing(
        plain_name(f"distance {task} {digest[:6]} {'' if unit == 'steps' else 'score'}"),
        f"Distance along a rollout: {task}",
        (
            f"Distances that runs predict along one successful rollout of {rollout['steps']} steps "
            f"({rollout.get('by', 'unknown')}), under the official query and others. A distance to "
            "the full state need not fall although the task gets done; one to the goal set should. "
            f"Budget: {budget.training(runs)}; one rollout."
        ),
        figure,
    )
