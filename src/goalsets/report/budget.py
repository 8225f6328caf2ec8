"""The budget of a result, in words, for every caption.

Every caption names it, because minutes on a processor are not the paper's protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from goalsets.report.published import PROTOCOL
from goalsets.report.reading import RunRecord
from goalsets.report.results import Cell, Scored

PAPER = f"The paper: {PROTOCOL}."


def training(runs: Iterable[RunRecord]) -> str:
    """Such as `2,500 steps × 512; 300 episodes of data (300,000 transitions)`, task by task."""
    by_task: dict[str, list[RunRecord]] = {}
    for run in runs:
        by_task.setdefault(run.task, []).append(run)
    told: dict[str, list[str]] = {}
    for task, group in by_task.items():
        told.setdefault(_cost(group), []).append(task)
    if len(told) == 1:
        return next(iter(told))
    if len(told) > 4:
        return _cost([run for group in by_task.values() for run in group])
    return "; ".join(f"{', '.join(tasks)}: {cost}" for cost, tasks in told.items())


def _cost(runs: Sequence[RunRecord]) -> str:
    pairs = sorted({(run.config.steps, run.config.batch_size) for run in runs})
    if len(pairs) <= 2:
        budget = " or ".join(f"{steps:,} steps × {batch}" for steps, batch in pairs)
    else:
        steps, batches = _range([s for s, _ in pairs]), _range([b for _, b in pairs])
        budget = f"{steps} steps × {batches}"
    return f"{budget} on {_data(runs)}"


def scores(cells: Iterable[Cell]) -> str:
    """How scores were measured: a whole sentence for a caption."""
    cells = list(cells)
    scored = [s for cell in cells for s in cell.scored]
    if not scored:
        return "No run has a score."
    return (
        f"Budget: {training(s.run for s in scored)}. A seed's score is {_evaluations(scored)}; "
        f"{seeds(len(cell.scored) for cell in cells)}. {PAPER}"
    )


def seeds(counts: Iterable[int]) -> str:
    """Such as `1 to 3 seeds a cell; † marks a single one, which has no spread`."""
    counts = list(counts)
    text = f"{_range(counts)} seed{'' if set(counts) == {1} else 's'} a cell"
    return f"{text}; † marks a single seed, which has no spread" if 1 in counts else text


def _evaluations(scored: Sequence[Scored]) -> str:
    counts = sorted({len(s.points) for s in scored})
    episodes = _range([p.episodes for s in scored for p in s.points])
    if counts == [1]:
        return f"its evaluation at the last step ({episodes} episodes)"
    early = min(s.points[0].step / s.run.config.steps for s in scored)
    some = "" if len(counts) == 1 else f"; {sum(len(s.points) == 1 for s in scored)} have only one"
    return (
        f"the mean of its last {_range(counts)} evaluations, from {early:.0%} of the training on "
        f"({episodes} episodes each{some})"
    )


def _data(runs: Sequence[RunRecord]) -> str:
    episodes = _known(runs, "episodes")
    transitions = _known(runs, "transitions")
    if not episodes:
        return "data of unknown size"
    more = f" ({_range(transitions)} transitions)" if transitions else ""
    return f"{_range(episodes)} episodes{more}"


def _known(runs: Sequence[RunRecord], name: str) -> list[int]:
    return [int(run.data[name]) for run in runs if isinstance(run.data.get(name), int)]


def _range(values: Iterable[int]) -> str:
    found = sorted(set(values))
    if len(found) == 1:
        return f"{found[0]:,}"
    return f"{found[0]:,} {'or' if len(found) == 2 else 'to'} {found[-1]:,}"
