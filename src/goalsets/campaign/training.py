"""Trains the runs of a grid that have no records yet, and keeps their records.

A run that is recorded is never trained again, on whichever machine it was trained. The records are
small: the configuration, the fingerprint of the data, the evaluations. Weights stay where they were
trained.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from goalsets.core import door
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.landscape import LANDSCAPE, has_landscape, keep_landscape
from goalsets.evaluate.suites.description import read_description, shipped_description
from goalsets.runs.config import TrainConfig
from goalsets.runs.records import DATA, EVALUATIONS, read_evaluations
from goalsets.runs.run import CONFIG, Run, is_planned
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Job, Sweep


def train_missing(file: Path, patterns: Sequence[str], runs: Path, records: Path) -> None:
    """Train those runs of a sweep that have no records yet, and keep their records."""
    sweep = read_sweep(str(file))
    todo = missing(sweep, patterns, records)
    if todo:
        names = [job.name for job in todo]
        command = [sys.executable, "-m", "goalsets", "sweep", str(file), "-o", str(runs), "--only"]
        ended = subprocess.run([*command, *names], check=False)
        keep_records(runs, records, names)  # what was done before it failed, too
        if ended.returncode:
            raise SystemExit(ended.returncode)  # the sweep has said why


def missing(sweep: Sweep, patterns: Sequence[str], records: Path) -> list[Job]:
    """Runs of a sweep whose records do not hold all that the sweep asks of them."""
    return [
        job for job in sweep.jobs() if job.fits(patterns) and not is_recorded(job, sweep, records)
    ]


def is_recorded(job: Job, sweep: Sweep, records: Path) -> bool:
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


def keep_records(runs: Path, records: Path, wanted: Container[str] | None = None) -> None:
    """Keep the records of the runs of a sweep's directory that have been evaluated.

    Args:
        runs: The directory.
        records: Where the records are kept.
        wanted: The names of the runs to keep; by default all. Runs with settings of an earlier
            grid may still lie in the directory, and no table shows them.
    """
    for config in sorted((runs / "runs").glob(f"*/*/{CONFIG}")):
        name = config.parent.relative_to(runs / "runs")
        if (config.parent / EVALUATIONS).exists() and (wanted is None or str(name) in wanted):
            keep(config.parent, records / name)


def keep(run: Path, place: Path) -> None:
    """Keep what a report needs of a run; its weights stay where it was trained."""
    place.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / CONFIG, place / CONFIG)
    data = door.read_json(run / DATA)
    data["source"] = data["source"].split(" (")[0]  # not where it lay on our disk
    (place / DATA).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    # What was recorded where the run was trained before, and not here, stays.
    lines = latest([*read_evaluations(place)[0], *read_evaluations(run)[0]])
    text = "".join(json.dumps(record) + "\n" for record in lines)
    (place / EVALUATIONS).write_text(text, encoding="utf-8")
    opened = Run.open(run)
    if has_landscape(opened.config) and opened.weights(opened.config.steps).exists():
        if not (run / LANDSCAPE).exists():
            keep_landscape(opened)
        shutil.copyfile(run / LANDSCAPE, place / LANDSCAPE)


def latest(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The newest record of each question that was asked at a step; tables use no other."""
    newest: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for record in reversed(records):
        newest.setdefault(_what(record), record)
    return list(newest.values())[::-1]


def _what(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a record is about: of two that agree in this, the later one replaces the other."""
    rollout = record.get("rollout", {}).get("digest")
    return record["kind"], record["step"], record.get("digest"), rollout, is_planned(record)
