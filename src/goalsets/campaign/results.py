"""Make our results: `make results`, or `python -m goalsets.campaign [--only PATTERN...]`.

Trains what results/runs has no records of (a run that is recorded there is never repeated, on
whichever machine it was trained), keeps the small files of every new run there, and writes the
report to results/report, what the eight tasks show to results/tasks.md, and tables into the docs.
Stop it when you like; it continues. With `--records`, it trains nothing and only writes what there
is.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goalsets.campaign import eight_tasks
from goalsets.campaign.pages import fill_places
from goalsets.core import door
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.landscape import LANDSCAPE, has_landscape, keep_landscape
from goalsets.evaluate.suites.description import read_description, shipped_description
from goalsets.runs.config import TrainConfig
from goalsets.runs.records import DATA, EVALUATIONS, read_evaluations
from goalsets.runs.run import CONFIG, Run, is_planned
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Job, Sweep

SWEEPS = (
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


def main() -> None:
    """Train what is missing, then keep the records and write the report."""
    parser = argparse.ArgumentParser(description="Make our results.")
    parser.add_argument("--only", nargs="+", default=[], help='patterns of names: "*gciql*"')
    parser.add_argument("--records", action="store_true", help="train nothing")
    asked = parser.parse_args()
    keep_records(RUNS, RESULTS / "runs")
    for name in () if asked.records else SWEEPS:
        train_missing(RESULTS / "sweeps" / f"{name}.yaml", asked.only, RUNS, RESULTS / "runs")
    _look_along_a_rollout()
    kept, report = str(RESULTS / "runs"), str(RESULTS / "report")
    subprocess.run([sys.executable, "-m", "goalsets", "report", kept, "-o", report], check=True)
    eight_tasks.main()
    scores, predicates = (
        (RESULTS / "report/tables" / f"{name}.md").read_text(encoding="utf-8").strip()
        for name in ("main", "predicates-cube-single-noisy-v0")
    )
    fill_places({"paper": _without_empty_rows(scores), "predicates": predicates}, PAGES)


def train_missing(file: Path, patterns: Sequence[str], runs: Path, records: Path) -> None:
    """Train those runs of a sweep that have no records yet, and keep their records."""
    sweep = read_sweep(str(file))
    wanted = [job for job in sweep.jobs() if job.fits(patterns)]
    todo = [job for job in wanted if not is_recorded(job, sweep, records)]
    print(f"{file}: {len(todo)} of {len(wanted)} runs to do{_hours(todo)}.", flush=True)
    if todo:
        names = [job.name for job in todo]
        command = [sys.executable, "-m", "goalsets", "sweep", str(file), "-o", str(runs), "--only"]
        ended = subprocess.run([*command, *names], check=False)
        keep_records(runs, records)  # what was done before it failed, too
        if ended.returncode:
            raise SystemExit(ended.returncode)  # the sweep has said why


def is_recorded(job: Job, sweep: Sweep, records: Path = RESULTS / "runs") -> bool:
    """Whether the records of a run hold all that a sweep asks of it."""
    found, _ = read_evaluations(records / job.name)
    last = [record for record in found if record["step"] == job.config.steps]
    episodes = sweep.evaluation.episodes * len(TASKS[job.config.task].goals)
    official = {
        is_planned(r) for r in last if r["kind"] == "official" and r["num_episodes"] >= episodes
    }
    wanted = {False, True} if sweep.evaluation.plan else {False}
    asked = {(r["suite"], is_planned(r)) for r in last if r["kind"] == "suite"}
    suites = {(name, False) for name in suite_names(sweep, job.config)}
    suites |= {(name, True) for name in suite_names(sweep, job.config, planned=True)}
    return (wanted <= official or episodes == 0) and suites <= asked


def suite_names(sweep: Sweep, config: TrainConfig, *, planned: bool = False) -> set[str]:
    """The names of the suites that a sweep asks a run; only those asked by chains, if planned."""
    asked = [
        choice.description
        for choice in sweep.suites
        if choice.is_asked(config) and (choice.plan or not planned)
    ]
    return {
        (shipped_description(config.task) if name == "shipped" else read_description(name)).name
        for name in asked
    }


def _hours(todo: Sequence[Job]) -> str:
    """About how long runs take, by what is recorded of their learners; nothing where unknown."""
    seconds = [_seconds_a_sample(job.config.learner) for job in todo]
    if not todo or None in seconds:
        return ""
    total = sum(
        each * job.config.steps * job.config.batch_size
        for each, job in zip(seconds, todo, strict=True)
        if each is not None
    )
    return f", about {total / 3600:.1f} hours of training on one core"


def _seconds_a_sample(learner: str) -> float | None:
    """The median time that recorded runs of a learner took for one sample of a batch."""
    found = [
        record["training_seconds"] / (record["step"] * config["batch_size"])
        for path in (RESULTS / "runs").glob(f"*/{learner}-*")
        for config in [door.read_json(path / CONFIG)]
        for record in read_evaluations(path)[0]
        if record.get("training_seconds") and record.get("step")
    ]
    return statistics.median(found) if found else None


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


def keep_records(runs: Path, records: Path) -> None:
    """Keep the records of all runs of a sweep's directory that have been evaluated."""
    for config in sorted((runs / "runs").glob(f"*/*/{CONFIG}")):
        if (config.parent / EVALUATIONS).exists():
            keep(config.parent, records / config.parent.relative_to(runs / "runs"))


def keep(run: Path, place: Path) -> None:
    """Keep what a report needs of a run; its weights stay where it was trained."""
    place.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / CONFIG, place / CONFIG)
    data = door.read_json(run / DATA)
    data["source"] = data["source"].split(" (")[0]  # not where it lay on our disk
    (place / DATA).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    ours, theirs = read_evaluations(run)[0], read_evaluations(place)[0]
    # What was recorded where the run was trained before, and not here, stays.
    known = {_what(record) for record in ours}
    lines = [record for record in theirs if _what(record) not in known] + ours
    text = "".join(json.dumps(record) + "\n" for record in lines)
    (place / EVALUATIONS).write_text(text, encoding="utf-8")
    opened = Run.open(run)
    if has_landscape(opened.config) and opened.weights(opened.config.steps).exists():
        if not (run / LANDSCAPE).exists():
            keep_landscape(opened)
        shutil.copyfile(run / LANDSCAPE, place / LANDSCAPE)


def _what(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a record is about: two that agree in this say the same."""
    rollout = record.get("rollout", {}).get("digest")
    return record["kind"], record["step"], record.get("digest"), rollout, is_planned(record)


def _without_empty_rows(table: str) -> str:
    """The table without rows that have no score yet; the report shows those as missing."""
    return "\n".join(line for line in table.split("\n") if "| — | — | — | — |" not in line)
