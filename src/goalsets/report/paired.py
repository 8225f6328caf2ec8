"""Paired tests: compare schemes episode by episode, on the same episodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from goalsets.evaluate.compare import Comparison, compare_outcomes
from goalsets.report import budget
from goalsets.report.published import FULL_STATE
from goalsets.report.reading import RunRecord
from goalsets.report.results import Results
from goalsets.report.statistics import holm
from goalsets.report.suites import Answered, Outcomes, SuiteResults
from goalsets.report.tables import Entry, Record, Table, points

BASELINE = FULL_STATE
OFFICIAL = "official goals"


@dataclass(frozen=True)
class Pair:
    """Two runs of one task, learner, recipe and seed, on the same episodes."""

    run: RunRecord
    """The run that is compared with HER-Full's; both have the same budget."""
    task: str
    learner: str
    variant: str
    seed: int
    scheme: str
    """The scheme that is compared with HER-Full."""
    comparison: Comparison


def pairs(results: Results, suites: Sequence[SuiteResults]) -> list[Pair]:
    """Compare every scheme with HER-Full if both have the same seed and episodes."""
    official = [
        Answered(run, results.variants[str(run.path)], {OFFICIAL: official_outcomes(run)}, {})
        for run in results.runs
    ]
    groups = [official, *([a for c in s.columns for a in c.answered] for s in suites)]
    return [pair for group in groups for pair in _compare(group)]


def paired_table(found: Sequence[Pair]) -> Table | None:
    """Make the table; None if there are no pairs."""
    if not found:
        return None
    adjusted = holm([pair.comparison.p_value for pair in found])
    rows: list[list[Entry]] = []
    records: list[Record] = []
    for pair, p_holm in zip(found, adjusted, strict=True):
        told = pair.comparison
        low, high = (100 * x for x in told.interval)
        rows.append(
            [
                Entry(pair.learner),
                Entry(pair.task, note=pair.variant, code=True),
                Entry(told.predicate),
                Entry(pair.scheme),
                Entry(str(pair.seed)),
                Entry(f"{points(100 * told.difference)} [{points(low)}, {points(high)}]"),
                Entry(f"{told.only_second} : {told.only_first}"),
                Entry(str(told.episodes)),
                Entry(f"{told.p_value:.2g}"),
                Entry(f"{p_holm:.2g}", bold=p_holm < 0.05),
            ]
        )
        records.append(
            {
                "task": pair.task,
                "learner": pair.learner,
                "variant": pair.variant,
                "predicate": told.predicate,
                "baseline": BASELINE,
                "scheme": pair.scheme,
                "seed": pair.seed,
                "episodes": told.episodes,
                "difference": 100 * told.difference,
                "low": low,
                "high": high,
                "only_scheme": told.only_second,
                "only_baseline": told.only_first,
                "p": told.p_value,
                "p_holm": p_holm,
            }
        )
    return Table(
        name="paired",
        title=f"Paired with {BASELINE}",
        caption=(
            f"Each row compares one run with the {BASELINE} run of the same seed on the episodes "
            "that both were given, after the last step. The difference is in points, with its "
            "95 % paired bootstrap interval; then the episodes that only the scheme and only "
            f"{BASELINE} solved, McNemar's exact p, and p after Holm's correction for all "
            f"{len(found)} rows (bold: below 0.05). This is about two checkpoints, and not about "
            f"the next seed. Budget: {budget.training(pair.run for pair in found)}. {budget.PAPER}"
        ),
        columns=[
            "learner",
            "task",
            "predicate",
            "scheme",
            "seed",
            "difference",
            "only one",
            "episodes",
            "p",
            "p (Holm)",
        ],
        rows=rows,
        records=records,
        left=4,
    )


def official_outcomes(run: RunRecord, plan: bool = False) -> Outcomes:
    """The outcomes of a run's official episodes after its last step.

    Args:
        run: The run.
        plan: Whether to take the episodes with chains of questions, or the others.
    """
    found: dict[tuple[int, int], bool] = {}
    for record in run.records("official", plan):
        if record.get("step") == run.config.steps:
            for episode in record.get("episodes", ()):
                place = (int(episode["task_id"]), int(episode["seed"]))
                found[place] = bool(episode["success"])
    return found


def _compare(group: Iterable[Answered]) -> Iterator[Pair]:
    by_key: dict[tuple[str, str, str, int], dict[str, Answered]] = {}
    for answered in group:
        config = answered.run.config
        key = (answered.run.task, config.learner, answered.variant, config.seed)
        by_key.setdefault(key, {})[config.scheme] = answered
    for (task, learner, variant, seed), schemes in sorted(by_key.items()):
        baseline = schemes.get(BASELINE)
        for scheme, other in sorted(schemes.items()):
            if baseline is None or scheme == BASELINE:
                continue
            for predicate, ours in baseline.outcomes.items():
                theirs = other.outcomes.get(predicate, {})
                both = [place for place in ours if place in theirs]
                if both:
                    comparison = compare_outcomes(
                        predicate, [ours[k] for k in both], [theirs[k] for k in both]
                    )
                    yield Pair(other.run, task, learner, variant, seed, scheme, comparison)
