"""What `make results` trains can be read, and its parts share a directory and their runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from goalsets.campaign import eight_tasks, training
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play as play
from goalsets.envs.tasks import TASKS
from goalsets.report.published import published_tasks
from goalsets.runs.config import TrainConfig
from goalsets.runs.presets import resolve
from goalsets.sweep import read_sweep
from goalsets.train.session import train

SWEEPS = sorted(Path("results/sweeps").glob("*.yaml"))
RECORDS = Path("results/runs")


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
    assert eight_tasks.verdict(low, high, paper, best) == says


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
    (line,) = eight_tasks.rows_of(cells, pairs)
    assert "GCIVL, 5,000 × 512, 200 episodes" in line
    assert line.count("+14 [+2, +24]") == 2
    assert "paper +17: confirmed" in line
    assert eight_tasks.rows_of(cells[1:], pairs) == []
    counts = {"only_scheme": "10", "only_baseline": "3", "episodes": "50"}
    (line,) = eight_tasks.rows_of(cells, [{**pair, **counts} for pair in pairs * 3])
    assert line.count("+14 [+6, +22]") == 2
    (line,) = eight_tasks.rows_of(cells, pairs[:1])
    assert "no episodes in common, paper +10" in line


def test_the_page_is_what_the_tables_say_and_names_other_options() -> None:
    tables = Path("results/report/tables")
    lines = eight_tasks.rows_of(
        *(eight_tasks._read(tables / f"{n}.csv") for n in ("main", "paired"))
    )
    page = Path("results/tasks.md").read_text(encoding="utf-8").splitlines()
    assert lines
    assert set(lines) <= set(page)
    (double,) = [line for line in lines if "cube-double-play" in line]
    assert "12,000 × 1024, 200 episodes, `--horizon 100`" in double
    (noisy,) = [line for line in lines if "cube-double-noisy" in line]
    assert "1000 episodes, `--horizon 100 --learning-rate 0.005 --weight-decay 0.01`" in noisy


def test_a_trial_names_what_is_not_the_presets(tmp_path: Path) -> None:
    other = {"weight_decay": 0.5, "learning_rate": 5e-3, "horizon": 100, "batch_size": 256}
    config = resolve("cube-single-play-v0", learner="gcbc", overrides=other)
    (tmp_path / "data.json").write_text('{"episodes": 1000}', encoding="utf-8")
    (tmp_path / "config.json").write_text(config.to_json(), encoding="utf-8")
    record = {
        "kind": "official",
        "step": 4000,
        "interval": [0.1, 0.4],
        "num_episodes": 50,
        "success": 0.24,
    }
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    (row,) = eight_tasks.budgets_of(tmp_path)
    assert row["also"] == "--horizon 100 --learning-rate 0.005 --weight-decay 0.5"
    assert (row["steps"], row["success"]) == ("4000 of 4000", "24")
    assert (row["data"], row["batch"]) == ("1000", "256")


def test_what_was_recorded_on_another_machine_is_not_trained_again(tmp_path: Path) -> None:
    plain, asked = (
        read_sweep(f"results/sweeps/{name}.yaml") for name in ("results", "results-predicates")
    )
    job = next(job for job in asked.jobs() if job.config.learner == "gcbc")
    assert training.is_recorded(job, plain, RECORDS)
    assert training.is_recorded(job, asked, RECORDS)
    assert not training.is_recorded(job, plain, tmp_path)
    place = tmp_path / job.name
    shutil.copytree(Path("results/runs") / job.name, place)
    lines = (place / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    official = [line for line in lines if json.loads(line)["kind"] == "official"]
    (place / "evaluations.jsonl").write_text("\n".join(official) + "\n", encoding="utf-8")
    assert training.is_recorded(job, plain, tmp_path)
    assert not training.is_recorded(job, asked, tmp_path)
    earlier = {**json.loads(official[0]), "step": job.config.steps - 1}
    (place / "evaluations.jsonl").write_text(json.dumps(earlier) + "\n", encoding="utf-8")
    assert not training.is_recorded(job, plain, tmp_path)


def test_keeping_a_run_adds_to_what_was_recorded_of_it(tmp_path: Path) -> None:
    store = write_store(
        tmp_path / "store",
        play(20, 60, seed=0).episodes(),
        layout=TASKS["tabletop-single-v0"].layout,
        source="play (/somewhere/of/ours)",
    )
    config = TrainConfig("tabletop-single-v0", "gcdl", steps=2, batch_size=32, hidden=16)
    run, place = train(config, store, tmp_path / "run"), tmp_path / "kept"
    place.mkdir()
    suite = {"kind": "suite", "step": 2, "digest": "abc", "by_predicate": {}}
    before = [{"kind": "official", "step": 2, "success": 0.5, "num_episodes": 4}, suite]
    text = "".join(json.dumps(record) + "\n" for record in before)
    (place / "evaluations.jsonl").write_text(text, encoding="utf-8")
    for success in (0.75, 0.25):  # asked twice: the later answer counts
        run.add_evaluation({"kind": "official", "step": 2, "success": success, "num_episodes": 4})
    training.keep(run.path, place)
    kept = [json.loads(line) for line in (place / "evaluations.jsonl").read_text().splitlines()]
    assert kept == [suite, {"kind": "official", "step": 2, "success": 0.25, "num_episodes": 4}]
    assert json.loads((place / "data.json").read_text())["source"] == "play"
    assert (place / "landscape.npz").exists()
    assert not (place / "weights").exists()
