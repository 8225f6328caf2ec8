"""The tables of chains: made from records, and the page shows what the records say."""

from __future__ import annotations

import json
from pathlib import Path

from goalsets.campaign.chains import GRIDS, PAGES, PLACE, by_goal, paper_best, table
from goalsets.runs.run import EVALUATIONS
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Evaluation, Sweep

ROOT = Path(__file__).parents[2]
SWEEP = Sweep(
    "plan",
    ("tabletop-double-v0",),
    schemes=("gs-direct",),
    seeds=(1, 2, 3),
    overrides=({"steps": 9},),
    evaluation=Evaluation(plan=True),
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
    *_, row = table([SWEEP], tmp_path).split("\n")
    assert row.startswith("| tabletop-double-v0 | 55 [")
    assert "| **95 [" in row
    assert row.endswith("| — | 2 | 2 |")
    assert by_goal([SWEEP], tmp_path).endswith("| tabletop-double-v0 | 100 → 100 | 10 → 90 |")
    assert table([SWEEP], tmp_path / "elsewhere") == "Nothing is recorded yet."


def test_the_best_of_the_paper_is_over_its_learners_and_schemes() -> None:
    assert paper_best("cube-double-play-v0") == "65"
    assert paper_best("puzzle-3x3-play-v0") == "—"


def test_the_page_shows_what_was_recorded() -> None:
    sweeps = [read_sweep(str(ROOT / PLACE / f"{name}.yaml")) for name in GRIDS]
    page, readme = ((ROOT / name).read_text(encoding="utf-8") for name in PAGES)
    shown = f"<!-- results: chains -->\n{table(sweeps, ROOT / PLACE / 'runs')}\n<!-- end -->"
    assert shown in page
    assert shown in readme
    goals = by_goal(sweeps, ROOT / PLACE / "runs")
    assert f"<!-- results: chains_by_goal -->\n{goals}\n<!-- end -->" in page
