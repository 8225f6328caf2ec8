"""Put a run's policy into the package: `python tools/ship_model.py RUN NAME`.

A shipped model has the configuration, layout, frame and data description of the run, its last
weights in half precision (actor and distance), a few held-out states as goals, its planner with
--plan, and its card, MODEL.md. The results in the card are those of the shipped weights. A shipped
model is read-only, so a copy is measured.

    python tools/ship_model.py RUN demo                        writes the model
    cp -r src/goalsets/runs/models/demo runs/demo              makes the copy
    goalsets eval runs/demo --episodes 20 && goalsets suite run runs/demo --suite runs/suite.json
    python tools/ship_model.py RUN demo --measured runs/demo   writes the card
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

from goalsets.data.paths import data_dir
from goalsets.data.store import Store
from goalsets.evaluate.stats import Rate
from goalsets.plan.planner_file import PLANNER
from goalsets.runs.run import BANK, MODELS, Run, is_planned
from goalsets.runs.weights import read_tensors, write_tensors

LARGEST = 3_000_000
BANK_SIZE = 200


def main(source: str, name: str, *options: str) -> None:
    """Write the model, and its card if it has been measured."""
    run, place = Run.open(source), MODELS / name
    step = run.steps[-1]
    place.mkdir(parents=True, exist_ok=True)
    for file in ("config.json", "layout.json", "frame.safetensors"):
        shutil.copyfile(run.path / file, place / file)
    # No path of the data: it means nothing elsewhere, and may be private.
    data = {**run.data, "source": str(run.data["source"]).split(" (")[0]}
    (place / "data.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    shutil.rmtree(place / "weights", ignore_errors=True)
    (place / "weights").mkdir()
    target = place / "weights" / f"step-{step}.safetensors"
    tensors, header = read_tensors(run.weights(step))
    kept = {name: value.half() for name, value in tensors.items() if "target_" not in name}
    write_tensors(target, kept, header)
    states = np.asarray(Store.open(data_dir() / run.config.task).validation.observations)
    drawn = np.random.default_rng(0).choice(len(states), BANK_SIZE, replace=False)
    write_tensors(place / BANK, {"states": torch.from_numpy(states[drawn])}, {})
    if "--plan" in options:
        run.planner(say=print)  # learned now, if it was not before
        shutil.copyfile(run.path / PLANNER, place / PLANNER)
    size = sum(f.stat().st_size for f in place.rglob("*") if f.is_file())
    assert size < LARGEST, f"{size:,} bytes are too many"
    print(f"{place}: {size:,} bytes, step {step}")
    if "--measured" in options:
        _write_card(Run.open(options[options.index("--measured") + 1]), place)


def _write_card(measured: Run, place: Path) -> None:
    config, records = measured.config, measured.evaluations()
    rows: list[tuple[str, Rate]] = []
    for record in (r for r in records if r["kind"] == "official"):
        count = record["num_episodes"]
        how = "official goals, by a chain of questions" if is_planned(record) else "official goals"
        rows.append((how, Rate(round(record["success"] * count), count)))
    suite = [r for r in records if r["kind"] == "suite" and not is_planned(r)][-1]
    for predicate, told in suite["by_predicate"].items():
        asked = told["num_episodes"]
        rows.append((f"`{predicate}`", Rate(round(told["success"] * asked), asked)))
    table = "\n".join(
        f"| {what} | {100 * rate.value:.0f} | {100 * rate.interval[0]:.0f} to "
        f"{100 * rate.interval[1]:.0f} | {rate.episodes} |"
        for what, rate in rows
    )
    settings = json.dumps(dict(config.settings))
    card = f"""# {place.name}: {config.learner} with {config.scheme} on {config.task}

A policy of a simulated robot arm on a table. It is asked with a reference state and a query
over its {measured.frame.layout.dim} state variables, and acts until the queried variables match.

**Data.** {measured.data["episodes"]:,} training episodes, {measured.data["transitions"]:,}
transitions of scripted play, collected with `goalsets data collect {config.task}`.
Fingerprint `{measured.data["fingerprint"]}`.

**Budget.** {config.steps:,} steps of {config.batch_size:,}, seed {config.seed}, learning rate
{config.learning_rate:g} ({config.schedule}), settings `{settings}`; minutes on two cores. This is
far from the paper's budget of 200,000 steps of 8,192.

**Results** of the shipped weights, which are stored in half precision:

| question | success % | 95 % interval | episodes |
|---|---|---|---|
{table}

The official goals are judged by the environment, the predicates by the suite of `goalsets suite
build {config.task}` with references from held-out episodes. One training seed.

**Limits.** It has seen one table and one arm, in simulation only. Ask `goalsets ask` what
the data says of a question before you trust an answer.
"""
    (place / "MODEL.md").write_text(card, encoding="utf-8")
    print(card)


if __name__ == "__main__":
    main(*sys.argv[1:])
