"""What `make results` trains can be read, and its parts share a directory and their runs."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from goalsets.report.published import published_tasks
from goalsets.sweep import read_sweep
from goalsets.train.presets import resolve

EIGHT = runpy.run_path("tools/eight_tasks.py")
SWEEPS = sorted(Path("results/sweeps").glob("*.yaml"))


def test_parts_are_of_one_name() -> None:
    # A directory belongs to one sweep: under other names, the second part would be refused.
    assert {read_sweep(file).name for file in SWEEPS} == {"results"}


def test_the_papers_tasks_are_all_there() -> None:
    jobs = [job.config for file in SWEEPS for job in read_sweep(file).jobs()]
    by_task: dict[str, set[str]] = {}
    for config in jobs:
        by_task.setdefault(config.task, set()).add(config.scheme)
    assert set(by_task) == set(published_tasks())
    assert all({"her-full", "her-task", "gs-blockwise"} <= schemes for schemes in by_task.values())


@pytest.mark.parametrize(
    ("low", "high", "paper", "best", "says"),
    [
        (26, 54, 36, 42, "confirmed"),
        (-54, -26, 36, 42, "contradicted"),
        (20, 46, -1, 52, "contradicted"),
        (-2, 16, 26, 42, "open"),
        (0, 0, -4, 20, "none, as in the paper"),
        (0, 0, 35, 0, "too small a budget"),
    ],
)
def test_what_a_gain_says(low: float, high: float, paper: float, best: float, says: str) -> None:
    assert EIGHT["verdict"](low, high, paper, best) == says


def test_a_task_is_told_of_where_all_three_schemes_were_trained() -> None:
    task, learner = "scene-play-v0", "gcivl"
    same = {"task": task, "learner": learner, "variant": "", "seeds": "1"}
    budget = {"steps": "5000", "batch": "512", "data_episodes": "200"}
    means = {"her-full": ("2", "70"), "her-task": ("16", "87"), "gs-blockwise": ("12", "80")}
    cells = [
        {**same, **budget, "scheme": scheme, "mean": mean, "low": "0", "high": "30"}
        | {"paper_mean": paper}
        for scheme, (mean, paper) in means.items()
    ]
    pairs = [
        {**same, "predicate": "official goals", "baseline": "her-full", "scheme": scheme}
        | {"difference": "14", "low": "2", "high": "24"}
        for scheme in ("her-task", "gs-blockwise")
    ]
    (line,) = EIGHT["rows_of"](cells, pairs)
    assert "GCIVL, 5,000 × 512, 200 episodes" in line
    assert line.count("+14 [+2, +24]") == 2
    assert "paper +17: confirmed" in line
    assert EIGHT["rows_of"](cells[1:], pairs) == []
    counts = {"only_scheme": "10", "only_baseline": "3", "episodes": "50"}
    (line,) = EIGHT["rows_of"](cells, [{**pair, **counts} for pair in pairs * 3])
    assert line.count("+14 [+6, +22]") == 2
    (line,) = EIGHT["rows_of"](cells, pairs[:1])
    assert "no episodes in common, paper +10" in line


def test_the_page_is_what_the_tables_say_and_names_short_horizons() -> None:
    tables = Path("results/report/tables")
    lines = EIGHT["rows_of"](*(EIGHT["_read"](tables / f"{n}.csv") for n in ("main", "paired")))
    page = Path("results/tasks.md").read_text(encoding="utf-8").splitlines()
    assert lines
    assert set(lines) <= set(page)
    (double,) = [line for line in lines if "cube-double-play" in line]
    assert "12,000 × 1024, 200 episodes, `--horizon 100`" in double


def test_a_trial_names_what_is_not_the_presets(tmp_path: Path) -> None:
    config = resolve("cube-single-play-v0", learner="gcbc", overrides={"weight_decay": 0.5})
    (tmp_path / "config.json").write_text(config.to_json(), encoding="utf-8")
    record = {"step": 4000, "interval": [0.1, 0.4], "num_episodes": 50, "success": 0.24}
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    (row,) = EIGHT["budgets_of"](tmp_path)
    assert row["also"] == "--weight-decay 0.5"
    assert (row["steps"], row["success"]) == ("4000 of 4000", "24")
