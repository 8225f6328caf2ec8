"""The plain method: the paper's learners and schemes at minutes of training.

Writes the report of the runs in results/runs to results/report, what the eight tasks show to
results/tasks.md, and tables into docs/results.md and docs/evaluation.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from goalsets.campaign import eight_tasks
from goalsets.campaign.pages import fill_places
from goalsets.campaign.training import keep_records
from goalsets.runs.records import read_evaluations

GRIDS = (
    "results",
    "results-predicates",
    "results-tasks",
    "results-scene",
    "results-large",
    "results-double",
    "results-double-noisy",
    "results-seeds",
)
RESULTS, RUNS = Path("results"), Path("runs/results")
PAGES = (Path("docs/results.md"), Path("docs/evaluation.md"))
"""Pages that show tables of the report."""
ROLLOUT = "cube-single-noisy-v0/gcdl-{}-*-s1"
"""Runs whose predicted distances along one rollout are recorded: the paper's figure."""


def write() -> None:
    """Write the report, the page of the eight tasks, and the tables in the docs."""
    _look_along_a_rollout()
    kept, report = str(RESULTS / "runs"), str(RESULTS / "report")
    subprocess.run([sys.executable, "-m", "goalsets", "report", kept, "-o", report], check=True)
    eight_tasks.main()
    scores, predicates = (
        (RESULTS / "report/tables" / f"{name}.md").read_text(encoding="utf-8").strip()
        for name in ("main", "predicates-cube-single-noisy-v0")
    )
    fill_places({"paper": _without_empty_rows(scores), "predicates": predicates}, PAGES)


def _look_along_a_rollout() -> None:
    """Record predicted distances once; where the runs were trained on another machine, not now."""
    schemes = ("gs-blockwise", "her-full", "her-task")
    if any(
        record["kind"] == "distance"
        for path in (RESULTS / "runs").glob(ROLLOUT.format("*"))
        for record in read_evaluations(path)[0]
    ):
        return
    runs = [path for s in schemes for path in (RUNS / "runs").glob(ROLLOUT.format(s))]
    if len(runs) == len(schemes):
        words = ["distance", *map(str, runs), "--query", "all", "eff_pos"]
        picture = str(RUNS / "distance.png")
        subprocess.run([sys.executable, "-m", "goalsets", *words, "-o", picture], check=True)
        keep_records(RUNS, RESULTS / "runs")


def _without_empty_rows(table: str) -> str:
    """The table without rows that have no score yet; the report shows those as missing."""
    return "\n".join(line for line in table.split("\n") if "| — | — | — | — |" not in line)
