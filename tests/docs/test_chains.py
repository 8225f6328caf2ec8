"""The tables of chains: made from records, and the page shows what the records say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from goalsets.campaign.chains import (
    ALL,
    PAGES,
    PLACE,
    by_goal,
    by_scheme,
    minutes_of_collecting,
    paper_best,
    recorded,
    table,
    tables,
)
from goalsets.campaign.collecting import FILE, measured
from goalsets.envs.tasks import TASKS
from goalsets.report.published import best_published
from goalsets.runs.records import EVALUATIONS
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import DataChoice, Evaluation, Sweep

ROOT = Path(__file__).parents[2]
SWEEP = Sweep(
    "plan",
    ("tabletop-double-v0",),
    schemes=("gs-direct",),
    seeds=(1, 2, 3),
    overrides=({"steps": 9},),
    evaluation=Evaluation(plan=True),
    data=DataChoice("collect", 100),
)


def record(name: str, records: Path, once: float, chain: float | None) -> None:
    place = records / name
    place.mkdir(parents=True)
    about = {"kind": "official", "step": 9, "num_episodes": 50, "training_seconds": 120.0}
    found = [{**about, "success": once, "by_goal": {"1": 1.0, "2": 2 * once - 1}}]
    if chain is not None:
        goals = {"1": 1.0, "2": 2 * chain - 1}
        found.append({**about, "success": chain, "by_goal": goals, "plan": True})
    (place / EVALUATIONS).write_text("".join(json.dumps(each) + "\n" for each in found))


def test_rows_set_a_chain_beside_the_whole_question(tmp_path: Path) -> None:
    first, second, third = SWEEP.jobs()
    record(first.name, tmp_path, 0.5, 1.0)
    record(second.name, tmp_path, 0.6, 0.9)
    record(third.name, tmp_path, 0.7, None)  # asked at once only: it is in no row
    found = recorded([SWEEP], tmp_path)
    collecting = minutes_of_collecting([SWEEP], {"tabletop-double-v0": 6.0})
    *_, row = table(found, collecting).split("\n")
    assert row.startswith("| tabletop-double-v0 | 55 [")
    assert "| **95 [" in row
    assert row.endswith("| — | — | 2 | 11 + 2 |")
    assert table(found, {}).endswith("| — | — | 2 | — + 2 |")
    assert by_goal(found).endswith("| tabletop-double-v0 | 100 → 100 | 10 → 90 |")
    for text in tables(recorded([SWEEP], tmp_path / "elsewhere"), {}).values():
        assert text == "Nothing is recorded yet."


def test_schemes_stand_side_by_side_with_their_seeds(tmp_path: Path) -> None:
    sweep = replace(SWEEP, schemes=("gs-direct", "her-full"))
    for job in sweep.jobs():
        if job.config.scheme == "gs-direct" or job.config.seed == 1:
            record(job.name, tmp_path, 0.5, 1.0)
    found = recorded([sweep], tmp_path)
    head, _, row = by_scheme(found, chains=True).split("\n")
    assert head == "| task | HER-Full | gs-direct | paper's best |"
    full, ours = row.split(" | ")[1:3]
    assert full.startswith("50 [")
    assert full.endswith("] (1)")
    assert " → 100 [" in ours
    assert ours.endswith("] (3)")
    assert "→" not in by_scheme(found, chains=False)


def test_the_best_of_the_paper_is_over_its_learners_and_schemes() -> None:
    assert paper_best("cube-double-play-v0") == "65"
    assert paper_best("puzzle-3x3-play-v0") == "—"
    assert best_published()["scene-play-v0"] == "90 (CTA)"
    assert set(best_published()) <= set(TASKS)


def test_the_pages_show_what_was_recorded() -> None:
    sweeps = [read_sweep(str(ROOT / PLACE / f"{name}.yaml")) for name in ALL]
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in PAGES]
    collecting = minutes_of_collecting(sweeps, measured(ROOT / FILE))
    for name, text in tables(recorded(sweeps, ROOT / PLACE / "runs"), collecting).items():
        places = [page for page in pages if f"<!-- results: {name} -->" in page]
        assert places, name
        for page in places:
            assert f"<!-- results: {name} -->\n{text}\n<!-- end -->" in page, name
