"""One model, many predicates: the results of runs on the suites that they share."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from goalsets.report import budget
from goalsets.report.main_table import describe
from goalsets.report.published import (
    PROTOCOL,
    Published,
    ordered_schemes,
    published_learners,
    published_predicates,
)
from goalsets.report.reading import Note, RunRecord
from goalsets.report.results import Results, in_order
from goalsets.report.statistics import Interval, spread, success_interval
from goalsets.report.tables import MISSING, Entry, Record, Table, plain_name, points

Outcomes = Mapping[tuple[int, int], bool]
"""Success by official start and seed of the episode."""
NOT_ASKED = "not asked"
TITLE = "One model, many predicates"


@dataclass(frozen=True)
class Answered:
    """The outcomes of one run by predicate; empty for a predicate that was not asked."""

    run: RunRecord
    variant: str
    outcomes: Mapping[str, Outcomes]
    refused: Mapping[str, str]
    """Why predicates were not asked."""


@dataclass(frozen=True)
class Share:
    """Success of a group of seeds on a predicate, in percent."""

    values: Sequence[float]
    episodes: int
    """The least number of episodes of a seed."""
    all_episodes: int
    """The number of episodes of all seeds."""

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return statistics.fmean(self.values)

    @property
    def std(self) -> float | None:
        """The standard deviation over seeds; None for a single seed."""
        return spread(self.values)

    @property
    def interval(self) -> Interval:
        """The 95 % interval, over seeds and over episodes."""
        return success_interval(self.values, self.all_episodes)


@dataclass(frozen=True)
class Column:
    """Runs of one learner, scheme and recipe: a column of the table, a colour of the figure."""

    learner: str
    scheme: str
    variant: str
    answered: Sequence[Answered]

    @property
    def label(self) -> str:
        """Such as `gciql gs-blockwise`."""
        return f"{self.learner} {self.scheme}" + (f" ({self.variant})" if self.variant else "")

    def share(self, predicate: str) -> Share | None:
        """Success on a predicate; None if no run was asked."""
        told = [a.outcomes[predicate] for a in self.answered if a.outcomes.get(predicate)]
        if not told:
            return None
        return Share(
            [100 * statistics.fmean(outcomes.values()) for outcomes in told],
            min(len(outcomes) for outcomes in told),
            sum(len(outcomes) for outcomes in told),
        )

    def refused(self, predicate: str) -> bool:
        """Whether the predicate cannot be asked of these runs."""
        return any(predicate in answered.refused for answered in self.answered)


@dataclass(frozen=True)
class SuiteResults:
    """The results of one suite."""

    task: str
    suite: str
    digest: str
    queries: Mapping[str, str]
    """The question of each predicate, in the suite's order."""
    columns: Sequence[Column]
    alone: bool = True
    """Whether it is the only suite of its task."""
    plan: bool = False
    """Whether chains of questions were asked instead of whole ones."""

    @property
    def name(self) -> str:
        """The name of its files; with the digest if a task has several suites."""
        what = "chains" if self.plan else "predicates"
        return plain_name(f"{what} {self.task} {'' if self.alone else self.digest[:6]}")

    def published(self, column: Column, predicate: str) -> Published | None:
        """The paper's number, if there is one; the paper has no chains."""
        if self.plan:
            return None
        key = (column.learner, self.task, column.scheme, predicate)
        return published_predicates().get(key)


def gather_suites(results: Results, notes: list[Note], plan: bool = False) -> list[SuiteResults]:
    """Collect the records of suites: one result for each suite that was run.

    Args:
        results: The runs.
        notes: A note is added for each record that is left out.
        plan: Whether to take records of chains of questions, or of whole questions.
    """
    found: dict[tuple[str, str, str], list[Answered]] = {}
    queries: dict[str, dict[str, str]] = {}
    for run in results.runs:
        for digest, records in _by_digest(run, plan).items():
            final = [r for r in records if r.get("step") == run.config.steps]
            if not final:
                steps = sorted({r.get("step") for r in records}, key=str)
                notes.append(
                    Note(
                        str(run.path),
                        f"not in the tables of predicates: asked after {steps[-1]} steps, and not "
                        f"after its last, {run.config.steps}.",
                    )
                )
                continue
            suite = str(final[-1].get("suite", "suite"))
            try:
                answered = _merge(run, results.variants[str(run.path)], final)
            except (KeyError, TypeError, ValueError) as error:
                notes.append(Note(str(run.path), f"a record of a suite is damaged: {error!r}."))
                continue
            found.setdefault((run.task, suite, digest), []).append(answered)
            for record in final:
                told = {k: str(v.get("query", k)) for k, v in record["by_predicate"].items()}
                queries.setdefault(digest, {}).update(told)
    count = Counter(task for task, _, _ in found)
    return [
        SuiteResults(
            task, suite, digest, queries[digest], _columns(answered), count[task] == 1, plan
        )
        for (task, suite, digest), answered in sorted(found.items(), key=lambda item: item[0])
    ]


def predicate_table(seen: SuiteResults) -> Table:
    """The table of one suite: predicates down, runs across."""
    shares = {
        (name, column.label): column.share(name) for name in seen.queries for column in seen.columns
    }
    asked = [] if seen.plan else published_predicates()
    theirs = list(dict.fromkeys((n, s) for n, t, s, _ in asked if t == seen.task))
    return Table(
        name=seen.name,
        title=f"{'Chains of questions' if seen.plan else TITLE}: {seen.task}",
        caption=(
            "Success in percent, mean ± standard deviation over seeds; in brackets the 95 % "
            "interval, the wider of that over seeds (bootstrap) and that over episodes (Wilson). "
            f"{NOT_ASKED}: the scheme answers only its own question; {MISSING}: not run. In small: "
            "the paper's number for the same learner and scheme, and ours less the paper's. "
            + (f"Columns of the paper: {PROTOCOL}. " if theirs else "")
            + predicate_budget(seen, seen.columns)
        ),
        columns=[
            "predicate",
            *(column.label for column in seen.columns),
            *(f"paper: {learner} {scheme}" for learner, scheme in theirs),
        ],
        rows=[
            [
                Entry(name, note=query if query != name else "", code=True),
                *(_entry(seen, column, name) for column in seen.columns),
                *(_published_entry(seen.task, *key, name) for key in theirs),
            ]
            for name, query in seen.queries.items()
        ],
        records=[
            _record(seen, column, name, shares[name, column.label])
            for name in seen.queries
            for column in seen.columns
        ],
    )


def predicate_budget(seen: SuiteResults, columns: Sequence[Column]) -> str:
    """The budget of some of a suite's runs: a whole sentence for a caption."""
    runs = [answered.run for column in columns for answered in column.answered]
    counts = {
        len(outcomes)
        for column in columns
        for answered in column.answered
        for outcomes in answered.outcomes.values()
        if outcomes
    }
    episodes = " to ".join(str(n) for n in sorted({min(counts), max(counts)})) if counts else "no"
    return (
        f"Suite {seen.suite}, digest {seen.digest[:8]}: {episodes} episodes a predicate, from one "
        f"list for all. Budget: {budget.training(runs)}; "
        f"{budget.seeds(len(column.answered) for column in columns)}."
    )


def _by_digest(run: RunRecord, plan: bool) -> dict[str, list[Mapping]]:
    found: dict[str, list[Mapping]] = {}
    for record in run.records("suite", plan):
        if isinstance(record.get("by_predicate"), Mapping):
            found.setdefault(str(record.get("digest", "")), []).append(record)
    return found


def _merge(run: RunRecord, variant: str, records: Sequence[Mapping]) -> Answered:
    """All episodes in a run's records of a suite, from several commands."""
    outcomes: dict[str, dict[tuple[int, int], bool]] = {}
    refused: dict[str, str] = {}
    for record in records:
        for name, told in record["by_predicate"].items():
            if "not_asked" in told:
                refused[name] = str(told["not_asked"])
            for episode in told.get("episodes", ()):
                place = (int(episode["task_id"]), int(episode["seed"]))
                outcomes.setdefault(name, {})[place] = bool(episode["success"])
    return Answered(run, variant, outcomes, refused)


def _columns(answered: Sequence[Answered]) -> list[Column]:
    groups: dict[tuple[str, str, str], list[Answered]] = {}
    for each in sorted(answered, key=lambda a: a.run.config.seed):
        config = each.run.config
        groups.setdefault((config.learner, config.scheme, each.variant), []).append(each)
    learners = in_order({key[0] for key in groups}, published_learners())
    schemes = in_order({key[1] for key in groups}, ordered_schemes())
    order = sorted(groups, key=lambda k: (learners.index(k[0]), schemes.index(k[1]), k[2]))
    return [Column(*key, groups[key]) for key in order]


def _entry(seen: SuiteResults, column: Column, predicate: str) -> Entry:
    share = column.share(predicate)
    if share is None:
        return Entry(NOT_ASKED if column.refused(predicate) else MISSING)
    low, high = share.interval
    paper = seen.published(column, predicate)
    note = "" if paper is None else f"paper {paper}, {points(share.mean - paper.mean)}"
    return Entry(f"{describe(share.mean, share.std)} [{low:.0f}, {high:.0f}]", note)


def _published_entry(task: str, learner: str, scheme: str, predicate: str) -> Entry:
    number = published_predicates().get((learner, task, scheme, predicate))
    return Entry(MISSING if number is None else str(number))


def _record(seen: SuiteResults, column: Column, predicate: str, share: Share | None) -> Record:
    paper = seen.published(column, predicate)
    low, high = (None, None) if share is None else share.interval
    return {
        "task": seen.task,
        "suite": seen.suite,
        "digest": seen.digest,
        "predicate": predicate,
        "query": seen.queries[predicate],
        "learner": column.learner,
        "scheme": column.scheme,
        "variant": column.variant,
        "asked": "no" if column.refused(predicate) else "yes",
        "seeds": 0 if share is None else len(share.values),
        "episodes": None if share is None else share.episodes,
        "mean": None if share is None else share.mean,
        "std": None if share is None else share.std,
        "low": low,
        "high": high,
        "paper_mean": None if paper is None else paper.mean,
        "paper_std": None if paper is None else paper.std,
    }
