"""Results: a score for each run, and cells of runs that differ only in their seeds."""

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goalsets.envs.tasks import TASKS
from goalsets.report.published import (
    Published,
    ordered_schemes,
    published_learners,
    published_schemes,
    published_scores,
)
from goalsets.report.reading import Note, RunRecord
from goalsets.report.statistics import Interval, spread, success_interval

Recipe = tuple[tuple[str, str], ...]
"""Settings by name."""


@dataclass(frozen=True)
class Point:
    """An official evaluation of a run at a step."""

    step: int
    seconds: float | None
    """Wall-clock seconds of training until then; None if the record does not say."""
    success: float
    episodes: int
    processor_seconds: float | None = None
    """Processor seconds of training until then; None in older records."""


@dataclass(frozen=True)
class Scored:
    """A run with its score: the mean of its last evaluations, as in the paper."""

    run: RunRecord
    points: Sequence[Point]
    """The evaluations whose mean is the score."""

    @property
    def success(self) -> float:
        """The score, from 0 to 1."""
        return statistics.fmean(point.success for point in self.points)

    @property
    def last(self) -> Point:
        """The evaluation of the last step."""
        return self.points[-1]


@dataclass(frozen=True)
class Cell:
    """Runs of one task, learner, scheme and recipe: they differ only in their seeds."""

    task: str
    learner: str
    scheme: str
    variant: str
    """How the recipe differs from the usual one of its task and learner; mostly empty."""
    scored: Sequence[Scored]

    @property
    def scores(self) -> list[float]:
        """The score of each seed, in percent."""
        return [100 * scored.success for scored in self.scored]

    @property
    def mean(self) -> float:
        """The mean over seeds, in percent."""
        return statistics.fmean(self.scores)

    @property
    def std(self) -> float | None:
        """The standard deviation over seeds, in percent; None for a single seed."""
        return spread(self.scores)

    @property
    def interval(self) -> Interval:
        """The 95 % interval, in percent, over seeds and over the episodes of an evaluation."""
        # All evaluations of a run use the same episodes, so these count once.
        episodes = sum(scored.last.episodes for scored in self.scored)
        return success_interval(self.scores, episodes)

    @property
    def published(self) -> Published | None:
        """The paper's number for this cell, if it has one."""
        return published_scores().get((self.learner, self.task, self.scheme))


@dataclass(frozen=True)
class Results:
    """All cells, and the order in which things are shown."""

    cells: Mapping[tuple[str, str, str, str], Cell]
    """By task, learner, variant and scheme."""
    variants: Mapping[str, str]
    """How a run's recipe differs from the usual one of its task and learner, by its path."""
    runs: Sequence[RunRecord]
    notes: Sequence[Note]

    @property
    def tasks(self) -> list[str]:
        """Tasks with a run."""
        return in_order({run.task for run in self.runs}, TASKS)

    @property
    def learners(self) -> list[str]:
        """Learners with a run."""
        return in_order({run.config.learner for run in self.runs}, published_learners())

    @property
    def schemes(self) -> list[str]:
        """The paper's schemes, then others with a run."""
        return in_order(
            {*published_schemes(), *(run.config.scheme for run in self.runs)}, ordered_schemes()
        )

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Task, learner and variant: every learner on every task, with every recipe."""
        found = {(task, learner, variant) for task, learner, variant, _ in self.cells}
        return [
            (task, learner, variant)
            for learner in self.learners
            for task in self.tasks
            for variant in ("", *sorted(v for t, n, v in found if v and (t, n) == (task, learner)))
        ]

    def get(self, task: str, learner: str, scheme: str, variant: str = "") -> Cell | None:
        """A cell; None if there is none."""
        return self.cells.get((task, learner, variant, scheme))


def in_order(names: Iterable[str], registry: Iterable[str]) -> list[str]:
    """Names in the order of a registry, then those that it does not have."""
    known = list(registry)
    return sorted(names, key=lambda n: (known.index(n) if n in known else len(known), n))


def official_points(run: RunRecord) -> list[Point]:
    """A run's official evaluations by step; for each step the one with the most episodes."""
    best: dict[int, Point] = {}
    for record in run.records("official"):
        point = _point(record)
        if point is not None and (
            point.step not in best or point.episodes >= best[point.step].episodes
        ):
            best[point.step] = point
    return [best[step] for step in sorted(best)]


def score(run: RunRecord, last: int, since: float) -> Scored | str:
    """A run's score, or the reason why it has none.

    Args:
        run: The run.
        last: At most this many of the last evaluations count.
        since: Evaluations count after this share of the training. The paper's three are at 80, 90
            and 100 %. Earlier ones would measure policies that are not trained yet.
    """
    points = official_points(run)
    steps = run.config.steps
    if not points:
        return "no official evaluation: run 'goalsets eval' on it."
    if points[-1].step < steps:
        return (
            f"its last official evaluation is of step {points[-1].step:,} of {steps:,}: finish it "
            "with --resume, or evaluate it with 'goalsets eval'."
        )
    counted = [point for point in points if point.step >= since * steps]
    return Scored(run, counted[-last:])


def gather(
    runs: Sequence[RunRecord], notes: Sequence[Note], *, last: int = 3, since: float = 0.8
) -> Results:
    """Score runs and put them into cells."""
    variants = _variants(runs)
    told = list(notes)
    by_cell: dict[tuple[str, str, str, str], list[Scored]] = {}
    for run in runs:
        scored = score(run, last, since)
        if isinstance(scored, str):
            told.append(Note(str(run.path), f"not in the main table: {scored}"))
            continue
        variant = variants[str(run.path)]
        key = (run.task, run.config.learner, variant, run.config.scheme)
        by_cell.setdefault(key, []).append(scored)
    cells = {
        (task, learner, variant, scheme): Cell(
            task, learner, scheme, variant, sorted(scored, key=lambda s: s.run.config.seed)
        )
        for (task, learner, variant, scheme), scored in by_cell.items()
    }
    return Results(cells, variants, list(runs), told)


def _point(record: Mapping[str, Any]) -> Point | None:
    """Read a record; None if it lacks what an evaluation must have."""
    try:
        seconds, spent = record.get("training_seconds"), record.get("processor_seconds")
        return Point(
            step=int(record["step"]),
            seconds=None if seconds is None else float(seconds),
            success=float(record["success"]),
            episodes=int(record["num_episodes"]),
            processor_seconds=None if spent is None else float(spent),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _variants(runs: Sequence[RunRecord]) -> dict[str, str]:
    """How each run's recipe differs from the usual one of its task and learner.

    Runs with different recipes are never averaged: an ablation is not another seed.
    """
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for run in runs:
        groups.setdefault((run.task, run.config.learner), []).append(run)
    found: dict[str, str] = {}
    for group in groups.values():
        recipes = {str(run.path): _recipe(run) for run in group}
        breadth = Counter(r for r, _ in {(recipes[str(x.path)], x.config.scheme) for x in group})
        count = Counter(recipes.values())
        # The usual recipe is the one with the most schemes; then with the most runs; then the one
        # that differs least from the others, because ablations differ from it; then the longest.
        usual = max(
            count,
            key=lambda r: (breadth[r], count[r], -_apart(r, count), int(dict(r)["steps"])),
        )
        for path, recipe in recipes.items():
            apart = [f"{k} {v}" for k, v in recipe if dict(usual).get(k) != v]
            found[path] = ", ".join(apart)
    return found


def _apart(recipe: Recipe, others: Iterable[Recipe]) -> int:
    """In how many settings a recipe differs from others, in total."""
    return sum(a != b for other in others for a, b in zip(recipe, other, strict=True))


def _recipe(run: RunRecord) -> Recipe:
    """Everything that decides a run except its task, learner, scheme and seed."""
    plain = dataclasses.asdict(run.config)
    for name in ("task", "learner", "scheme", "seed", "settings"):
        del plain[name]
    plain |= dataclasses.asdict(run.config.learner_config())
    size = run.data.get("episodes")
    shown = run.fingerprint[:6] or "unknown"
    plain["data"] = shown if size is None else f"{shown} ({size:,} episodes)"
    return tuple((name.replace("_", " "), str(value)) for name, value in plain.items())
