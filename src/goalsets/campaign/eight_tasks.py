"""What the paper's eight tasks show here: results/tasks.md, from the tables of the report.

    python -m goalsets.campaign.eight_tasks [RUN ...]

Each row is one learner and budget on one task, trained under full-state goals (her-full), under the
official question alone (her-task) and under goal sets (gs-blockwise). `make results` calls this.
Runs that are named tried other budgets on a task: what they reached is kept in results/tried.csv,
and shown below the table.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goalsets.core import door
from goalsets.relabel.queries import DEFAULT_SCHEME
from goalsets.report.published import FULL_STATE, ORACLE, PROTOCOL, published_tasks
from goalsets.report.statistics import gain_interval
from goalsets.runs.presets import resolve
from goalsets.runs.records import read_evaluations
from goalsets.runs.run import is_planned

RESULTS = Path("results")
SCHEMES = (FULL_STATE, ORACLE, DEFAULT_SCHEME)
NOTHING = 5.0
"""Percent under which a success is too rare to compare, and points of the paper's that are none."""

Row = Mapping[str, str]

_HEAD = """# The paper's eight tasks

Does the paper's effect show on every task, with data collected here and minutes on two cores? Each
row was trained under one budget and three schemes: full-state goals (`her-full`), the official
question alone (`her-task`) and goal sets (`gs-blockwise`). Success in percent over the official
episodes, with its 95 % interval; a gain is the paired difference from `her-full` on the same
episodes, in points, beside the paper's. One seed unless it says otherwise; of several seeds, the
mean gain with the wider of two intervals: over the seeds, and over the episodes of all of them.

| task | learner, budget | her-full | her-task | gs-blockwise | her-task gains | goal sets gain |
|---|---|---:|---:|---:|---|---|
"""

_FOOT = f"""
- **confirmed**: the interval of the gain excludes 0, and the paper's gain has the same sign.
- **none, as in the paper**: the interval contains 0, and the paper's gain is less than 5 points.
- **contradicted**: the interval excludes 0, and the paper's gain is less than 5 points or has
  another sign.
- **open**: the interval contains 0, and the paper has a gain.
- **too small a budget**: no scheme reaches 5 %.

The paper: {PROTOCOL}. Made by `make results`, whose grids are in
[sweeps](sweeps), and `python -m goalsets.campaign.eight_tasks`.
"""

_TRIED = """
## Other budgets and settings that were tried

In search of what shows anything where the preset does not: one run each, by
`goalsets train TASK --learner LEARNER --scheme SCHEME --steps STEPS --batch-size BATCH`, with what
else is named, on so many collected episodes.

| task | learner, scheme | budget | data | also | success |
|---|---|---|---:|---|---:|
"""
_NAMES = ("task", "learner", "scheme", "steps", "batch", "data", "also")
_OPTIONS = ("horizon", "learning_rate", "hidden", "weight_decay")
"""Fields of a configuration that are told where they are not the preset's."""
_FIELDS = (*_NAMES, "episodes", "success", "low", "high")


def main(*runs: str) -> None:
    """Write the page."""
    kept = RESULTS / "tried.csv"
    tried = _read(kept) if kept.exists() else []
    known = {tuple(row[name] for name in _NAMES): row for row in tried}
    for run in runs:
        for row in budgets_of(Path(run)):
            known[tuple(row[name] for name in _NAMES)] = row
    rows = sorted(known.values(), key=_place)
    with kept.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list[str](_FIELDS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    tables = RESULTS / "report" / "tables"
    lines = rows_of(_read(tables / "main.csv"), _read(tables / "paired.csv"))
    below = _TRIED + "\n".join(map(_tried_line, rows)) + "\n" if rows else ""
    page = _HEAD + "\n".join(lines) + "\n" + _FOOT + below
    (RESULTS / "tasks.md").write_text(page, encoding="utf-8")


def budgets_of(run: Path) -> list[Row]:
    """A row for each step of a run that was evaluated on the official goals."""
    config = door.read_json(run / "config.json")
    data = door.read_json(run / "data.json")
    found: dict[int, Row] = {}
    for record in read_evaluations(run)[0]:
        if is_planned(record):
            continue
        low, high = record["interval"]
        told = {
            "task": config["task"],
            "learner": config["learner"],
            "scheme": config["scheme"],
            # The learning rate falls to the end: weights from before it are of a longer budget.
            "steps": f"{record['step']} of {config['steps']}",
            "batch": str(config["batch_size"]),
            "data": str(data["episodes"]),
            "also": _options(config),
            "episodes": str(record["num_episodes"]),
            "success": f"{100 * record['success']:.0f}",
            "low": f"{100 * low:.0f}",
            "high": f"{100 * high:.0f}",
        }
        found[record["step"]] = told
    return list(found.values())


def _options(config: Mapping[str, Any]) -> str:
    """The options of `goalsets train` that make a configuration, beside the budget's."""
    usual = resolve(config["task"], learner=config["learner"], scheme=config["scheme"])
    also = [
        f"--{name.replace('_', '-')} {config[name]}"
        for name in _OPTIONS
        if config[name] != getattr(usual, name)
    ]
    changed = [
        f"{name}={value}"
        for name, value in config["settings"].items()
        if usual.settings.get(name) != value
    ]
    return " ".join([*also, f"--set {' '.join(changed)}"] if changed else also)


def _place(row: Row) -> tuple[object, ...]:
    """Where a trial stands in the table: the shorter budget first."""
    steps = [int(part) for part in reversed(row["steps"].split(" of "))]
    who = (row[name] for name in ("task", "learner", "scheme"))
    return (*who, int(row["data"]), row["also"], *steps)


def _tried_line(row: Row) -> str:
    step, steps = (int(part) for part in row["steps"].split(" of "))
    budget = f"{step:,}" + (f" of {steps:,}" if step != steps else "") + f" × {row['batch']}"
    success = f"{row['success']} [{row['low']}, {row['high']}], {row['episodes']} episodes"
    who = f"{row['learner'].upper()}, {row['scheme']}"
    also = f"`{row['also']}`" if row["also"] else ""
    return f"| `{row['task']}` | {who} | {budget} | {row['data']} | {also} | {success} |"


def rows_of(main: Iterable[Row], paired: Iterable[Row]) -> list[str]:
    """A line for each learner and budget that was trained under all three schemes."""
    cells = {(r["task"], r["learner"], r["variant"], r["scheme"]): r for r in main}
    gains: dict[tuple[str, str, str, str], list[Row]] = {}
    for r in paired:
        if r["predicate"] == "official goals" and r["baseline"] == FULL_STATE:
            key = r["task"], r["learner"], r["variant"], r["scheme"]
            gains.setdefault(key, []).append(r)
    found: list[str] = []
    for task in published_tasks():
        for learner, variant in dict.fromkeys((k[1], k[2]) for k in cells if k[0] == task):
            own = [cells.get((task, learner, variant, scheme)) for scheme in SCHEMES]
            three = [cell for cell in own if cell is not None]
            if len(three) == len(SCHEMES):
                told = [gains.get((task, learner, variant, scheme), []) for scheme in SCHEMES[1:]]
                found.append(_line(task, three, told))
    return found


def verdict(low: float, high: float, paper: float, best: float) -> str:
    """What a gain says about the paper's.

    Args:
        low: Of the gain's interval, in points.
        high: Of the gain's interval.
        paper: The paper's gain.
        best: The highest success of the row, in percent.
    """
    if best < NOTHING:
        return "too small a budget"
    if low <= 0 <= high:
        return "open" if abs(paper) >= NOTHING else "none, as in the paper"
    same = abs(paper) >= NOTHING and (paper > 0) == (low > 0)
    return "confirmed" if same else "contradicted"


def _line(task: str, cells: list[Row], gains: list[list[Row]]) -> str:
    first = cells[0]
    budget = f"{int(first['steps']):,} × {first['batch']}, {first['data_episodes']} episodes"
    seeds = f", {first['seeds']} seeds" if first["seeds"] != "1" else ""
    budget += _other_options(task, first["learner"], int(first["steps"]))
    best = max(float(cell["mean"]) for cell in cells)
    told = [
        _gain(rows, float(cell["paper_mean"]) - float(first["paper_mean"]), best)
        for cell, rows in zip(cells[1:], gains, strict=True)
    ]
    learner = first["learner"].upper()
    scores = [_score(cell) for cell in cells]
    return f"| `{task}` | {learner}, {budget}{seeds} | {' | '.join([*scores, *told])} |"


def _other_options(task: str, learner: str, steps: int) -> str:
    """What else is not the preset's: no table of the report has it."""
    files = (RESULTS / "runs" / task).glob(f"{learner}-*/config.json")
    configs = [door.read_json(file) for file in files]
    found = {_options(config) for config in configs if config["steps"] == steps} - {""}
    return "".join(f", `{options}`" for options in sorted(found))


def _score(cell: Row) -> str:
    low, high = (float(cell[name]) for name in ("low", "high"))
    return f"{float(cell['mean']):.0f} [{low:.0f}, {high:.0f}]"


def _gain(rows: list[Row], paper: float, best: float) -> str:
    """The gain over all seeds, and whether it is the paper's."""
    if not rows:
        return f"no episodes in common, paper {paper:+.0f}"
    mean = sum(float(row["difference"]) for row in rows) / len(rows)
    if len(rows) == 1:
        low, high = float(rows[0]["low"]), float(rows[0]["high"])
    else:
        pairs = [(int(r["only_scheme"]), int(r["only_baseline"]), int(r["episodes"])) for r in rows]
        low, high = gain_interval(pairs)
    said = verdict(low, high, paper, best)
    return f"{mean:+.0f} [{low:+.0f}, {high:+.0f}], paper {paper:+.0f}: {said}"


def _read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main(*sys.argv[1:])
