"""Make our results: `make results`, or `python tools/results.py [--only PATTERN...]`.

Trains what is missing of the sweeps in results/sweeps (runs that are finished are never repeated),
keeps the small files of every run in results/runs, and writes the report to results/report, what
the eight tasks show to results/tasks.md, and the main table into the README. Stop it when you like;
it continues. With `--records`, it trains nothing and only writes what there is.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import eight_tasks
from learning_pages import README, fill_places

from goalsets.sweep import read_sweep, survey
from goalsets.train.config import TrainConfig
from goalsets.train.presets import resolve

SWEEPS = (
    "results",
    "results-predicates",
    "results-tasks",
    "results-scene",
    "results-large",
    "results-double",
    "results-seeds",
)
RESULTS, RUNS = Path("results"), Path("runs/results")
KEPT = ("config.json", "data.json", "evaluations.jsonl")
"""What a report needs of a run; its weights stay where it was trained."""
MINUTES = {"gcbc": 4, "gcdl": 7, "gcivl": 7, "gciql": 10, "crl": 9}
"""About as long does a run take on one core at the preset, its evaluation included."""


def main(*options: str) -> None:
    """Train what is missing, then keep the records and write the report."""
    if "--records" not in options:
        for name in SWEEPS:
            file = RESULTS / "sweeps" / f"{name}.yaml"
            _say_how_long(file)
            command = [sys.executable, "-m", "goalsets", "sweep", str(file), "-o", str(RUNS)]
            subprocess.run([*command, *options], check=True)
    _keep_records()
    report = [sys.executable, "-m", "goalsets", "report", str(RUNS), "-o", str(RESULTS / "report")]
    subprocess.run(report, check=True)
    eight_tasks.main()
    table = (RESULTS / "report/tables/main.md").read_text(encoding="utf-8")
    fill_places({"paper": _without_empty_rows(table)}, [README])


def _without_empty_rows(table: str) -> str:
    """The table without rows that have no score yet; the report shows those as missing."""
    return "\n".join(line for line in table.strip().split("\n") if "| — | — | — | — |" not in line)


def _say_how_long(file: Path) -> None:
    entries = survey(RUNS, read_sweep(str(file))).entries
    todo = [entry.job.config for entry in entries if entry.standing != "done"]
    hours = sum(MINUTES[config.learner] * _times_the_preset(config) for config in todo) / 60
    print(f"{file}: {len(todo)} of {len(entries)} runs to do, about {hours:.1f} hours of one core.")


def _times_the_preset(config: TrainConfig) -> float:
    return config.steps / resolve(config.task, learner=config.learner).steps


def _keep_records() -> None:
    for config in sorted((RUNS / "runs").glob("*/*/config.json")):
        place = RESULTS / "runs" / config.parent.relative_to(RUNS / "runs")
        if (config.parent / "evaluations.jsonl").exists():
            place.mkdir(parents=True, exist_ok=True)
            for name in KEPT:
                shutil.copyfile(config.parent / name, place / name)
            data = json.loads((place / "data.json").read_text(encoding="utf-8"))
            data["source"] = data["source"].split(" (")[0]  # not where it lay on our disk
            (place / "data.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
