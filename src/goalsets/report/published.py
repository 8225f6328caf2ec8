"""The paper's own numbers, for comparison; `published/README.md` gives their source."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from importlib import resources

from goalsets.condition import CONDITIONERS
from goalsets.relabel.queries import SCHEMES

FULL_STATE, ORACLE = "her-full", "her-task"
"""The paper's baseline, and its oracle, which is trained only for the official question."""
PROTOCOL = "200,000 steps × 8192, 5 seeds, 3 × 100 episodes a seed"
"""The protocol of the paper's main table."""


@dataclass(frozen=True)
class Published:
    """Success in percent: mean and standard deviation over seeds."""

    mean: float
    std: float

    def __str__(self) -> str:
        """Such as `97 ± 2`."""
        return f"{self.mean:.0f} ± {self.std:.0f}"


@functools.cache
def published_scores() -> dict[tuple[str, str, str], Published]:
    """The main table, by learner, task and scheme."""
    return {(row["learner"], row["task"], row["scheme"]): _number(row) for row in _read("main.csv")}


def published_learners() -> list[str]:
    """Learners in the order of the paper's table."""
    return list(dict.fromkeys(learner for learner, _, _ in published_scores()))


def published_schemes() -> list[str]:
    """Schemes in the order of the paper's table."""
    return list(dict.fromkeys(scheme for _, _, scheme in published_scores()))


def ordered_schemes() -> list[str]:
    """The paper's schemes in the order of its table, then ours."""
    paper = published_schemes()
    return paper + sorted(set(SCHEMES) - set(paper))


def answers_queries(scheme: str) -> bool:
    """Whether policies of a scheme can be asked different questions."""
    return CONDITIONERS[SCHEMES[scheme].conditioning].hears_queries


def published_tasks() -> list[str]:
    """Tasks in the order of the paper's table."""
    return list(dict.fromkeys(task for _, task, _ in published_scores()))


@functools.cache
def published_predicates() -> dict[tuple[str, str, str, str], Published]:
    """The table of many predicates, by learner, task, scheme and predicate."""
    return {
        (row["learner"], row["task"], row["scheme"], row["predicate"]): _number(row)
        for row in _read("predicates.csv")
    }


def _number(row: dict[str, str]) -> Published:
    return Published(float(row["mean"]), float(row["std"]))


def _read(name: str) -> list[dict[str, str]]:
    text = (resources.files("goalsets.report") / "published" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@functools.cache
def best_published() -> dict[str, str]:
    """The highest published success in percent that we know of, with any method, by task."""
    return {row["task"]: f"{row['success']} ({row['method']})" for row in _read("best.csv")}
