"""The gain from chains of questions: the same runs and episodes, at once and by a chain."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from goalsets.evaluate.compare import compare_outcomes
from goalsets.report import budget
from goalsets.report.main_table import describe
from goalsets.report.paired import OFFICIAL, official_outcomes
from goalsets.report.reading import RunRecord
from goalsets.report.results import Results
from goalsets.report.statistics import gain_interval, spread, success_interval
from goalsets.report.suites import Outcomes
from goalsets.report.tables import MISSING, Entry, Record, Table, points

Key = tuple[str, str, str, str]
"""Learner, task, variant and scheme."""


@dataclass(frozen=True)
class _Row:
    """Runs that differ only in their seeds, with their success by a chain and at once."""

    key: Key
    runs: Sequence[RunRecord]
    chain: Sequence[Outcomes]
    at_once: Sequence[Outcomes]
    """Outcomes of the same runs at once; empty if one was not asked whole questions."""


def chain_table(results: Results) -> Table | None:
    """Make the table of official goals; None if no run was asked a chain."""
    rows = _rows(results)
    if not rows:
        return None
    return Table(
        name="chains",
        title="Official success with a chain of questions",
        caption=(
            "The official goals, asked at once and by a chain of questions: one part after "
            "another, as a planner finds in the data that it can be done. Success in percent after "
            "the last step, mean ± standard deviation over seeds; in brackets the 95 % interval, "
            "the wider of that over seeds (bootstrap) and that over episodes (Wilson). The gain is "
            "paired: over the episodes that a run was given both ways. The planner is no part of "
            "the paper's method, and no other table of this report counts chains. "
            f"{MISSING}: not run. Budget: {budget.training(r for row in rows for r in row.runs)}; "
            f"{budget.seeds(len(row.runs) for row in rows)}."
        ),
        columns=["learner", "task", "scheme", "at once", "with a chain", "gain"],
        rows=[_entries(row) for row in rows],
        records=[_record(row) for row in rows],
        left=3,
    )


def _rows(results: Results) -> list[_Row]:
    groups: dict[Key, list[tuple[RunRecord, Outcomes]]] = {}
    for run in results.runs:
        outcomes = official_outcomes(run, plan=True)
        if outcomes:
            config = run.config
            key = (config.learner, run.task, results.variants[str(run.path)], config.scheme)
            groups.setdefault(key, []).append((run, outcomes))
    learners, tasks = results.learners, results.tasks
    found: list[_Row] = []
    for key in sorted(groups, key=lambda k: (learners.index(k[0]), tasks.index(k[1]), k[2:])):
        members = sorted(groups[key], key=lambda member: member[0].config.seed)
        runs = [run for run, _ in members]
        at_once = [official_outcomes(run) for run in runs]
        found.append(_Row(key, runs, [o for _, o in members], at_once if all(at_once) else []))
    return found


def _success(outcomes: Sequence[Outcomes]) -> tuple[list[float], int]:
    """Success of each seed in percent, and the number of all episodes."""
    values = [100 * statistics.fmean(each.values()) for each in outcomes]
    return values, sum(map(len, outcomes))


def _cell(outcomes: Sequence[Outcomes]) -> Entry:
    if not outcomes:
        return Entry(MISSING)
    values, episodes = _success(outcomes)
    low, high = success_interval(values, episodes)
    mean = statistics.fmean(values)
    return Entry(f"{describe(mean, spread(values))} [{low:.0f}, {high:.0f}]")


def _gain(row: _Row) -> tuple[float, tuple[float, float]] | None:
    """Mean and interval of the paired difference, in points; None if no episode is shared."""
    pairs: list[tuple[int, int, int]] = []
    for ours, theirs in zip(row.chain, row.at_once, strict=False):
        both = [place for place in ours if place in theirs]
        told = compare_outcomes(OFFICIAL, [theirs[k] for k in both], [ours[k] for k in both])
        if both:
            pairs.append((told.only_second, told.only_first, len(both)))
    if not pairs:
        return None
    return statistics.fmean(100 * (a - b) / count for a, b, count in pairs), gain_interval(pairs)


def _entries(row: _Row) -> list[Entry]:
    learner, task, variant, scheme = row.key
    gain = _gain(row)
    told = MISSING if gain is None else f"{points(gain[0])} [{gain[1][0]:+.0f}, {gain[1][1]:+.0f}]"
    return [
        Entry(learner),
        Entry(task, note=variant, code=True),
        Entry(scheme),
        _cell(row.at_once),
        _cell(row.chain),
        Entry(told),
    ]


def _record(row: _Row) -> Record:
    learner, task, variant, scheme = row.key
    values, episodes = _success(row.chain)
    low, high = success_interval(values, episodes)
    once = _success(row.at_once)[0]
    gain = _gain(row)
    return {
        "task": task,
        "learner": learner,
        "scheme": scheme,
        "variant": variant,
        "seeds": len(row.runs),
        "episodes": episodes,
        "at_once": statistics.fmean(once) if once else None,
        "chain": statistics.fmean(values),
        "low": low,
        "high": high,
        "gain": None if gain is None else gain[0],
        "gain_low": None if gain is None else gain[1][0],
        "gain_high": None if gain is None else gain[1][1],
    }
