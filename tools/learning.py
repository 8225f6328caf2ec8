"""Measure learning on cube-single-noisy-v0 at the cpu preset, and ablate its parts.

    python tools/learning.py cpu          each learner, success over wall-clock
    python tools/learning.py schemes      GCBC and GCDL under other schemes
    python tools/learning.py ablation     GCIQL without its pessimistic start, floor, labels, clamp
    python tools/learning.py imitation    GCBC without its weight decay, learning rate, schedule
    python tools/learning.py temperature  GCDL at other values of alpha

Needs the data (goalsets data collect cube-single-noisy-v0 --episodes 300, then data import).
Finished runs are not repeated. The table goes to results/learning/<what>.csv and to the screen.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from goalsets.evaluate.stats import Rate
from goalsets.runs.run import CONFIG, Run

TASK = "cube-single-noisy-v0"
RUNS, RESULTS = Path("runs/learning"), Path("results/learning")

Experiments = dict[str, list[str]]
"""Options of `goalsets train` by the experiment's name."""

CPU: Experiments = {name: ["--learner", name] for name in ("gcbc", "gciql", "gcivl", "gcdl", "crl")}
SCHEMES: Experiments = {
    f"{learner}, {scheme}": ["--learner", learner, "--scheme", scheme]
    for learner, scheme in (
        ("gcbc", "her-full"),
        ("gcbc", "her-task"),
        ("gcbc", "gs-semantic"),
        ("gcdl", "her-full"),
        ("gcdl", "gs-semantic"),
    )
}
_GCIQL = ["--learner", "gciql"]
ABLATION: Experiments = {
    "optimistic start (V = -0.7, Q = 0)": [*_GCIQL, "--set", "initial_value=-0.7"],
    "no floor": [*_GCIQL, "--set", "witness=false"],
    "labels by predicate": [*_GCIQL, "--labels", "predicate"],
    "clamp in standardised units": [*_GCIQL, "--clamp", "standardised"],
}
_GCBC = ["--learner", "gcbc"]
IMITATION: Experiments = {
    "weight decay 0.01": [*_GCBC, "--weight-decay", "0.01"],
}
TEMPERATURE: Experiments = {
    "alpha 1, as in the paper": ["--learner", "gcdl", "--set", "alpha=1"],
}
TABLES = {
    "imitation": IMITATION,
    "temperature": TEMPERATURE,
    "cpu": CPU,
    "schemes": SCHEMES,
    "ablation": ABLATION,
}


def main(what: str, *options: str) -> None:
    """Run unfinished experiments, then write the table of finished ones.

    Args:
        what: A table.
        options: `--only NAME` to run one experiment; all others go to `goalsets train`.
    """
    experiments, rest = TABLES[what], list(options)
    only = rest.pop(1) if rest[:1] == ["--only"] else None
    for name, own in experiments.items():
        if only in (None, name):
            _train(_place(what, name), [*own, *(rest[1:] if only else rest)])
    places = {name: _place(what, name) for name in experiments}
    done = {name: Run.open(place) for name, place in places.items() if (place / CONFIG).exists()}
    rows = [row for name, run in done.items() for row in _rows(name, run)]
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / f"{what}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(map(str, row.values())) + " |")


def _place(what: str, name: str) -> Path:
    plain = "".join(c if c.isalnum() else "-" for c in name).strip("-")
    return RUNS / what / plain


def _train(place: Path, options: list[str]) -> None:
    resume = ["--resume"] if (place / CONFIG).exists() else []
    command = [sys.executable, "-m", "goalsets", "train", TASK, "--output", str(place)]
    # Evaluate afterwards, so that the clock counts only training.
    looking = ["--evaluate", "afterwards", "--episodes", "10"]
    subprocess.run([*command, *options, *looking, *resume], check=True)


def _rows(name: str, run: Run) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    records = [r for r in run.evaluations() if r["kind"] == "official"]
    for record in sorted(records, key=lambda r: r["step"]):
        count = record["num_episodes"]
        rate = Rate(round(record["success"] * count), count)
        low, high = rate.interval
        rows.append(
            {
                "run": name,
                "batch": run.config.batch_size,
                "step": record["step"],
                "seconds": round(record["training_seconds"]),
                "success %": round(100 * rate.value),
                "95 % interval": f"{100 * low:.0f} to {100 * high:.0f}",
                "episodes": count,
            }
        )
    return rows


if __name__ == "__main__":
    main(*sys.argv[1:])
