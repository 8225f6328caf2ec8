"""The tables of direct hindsight: made from records, and the page shows what the records say."""

from __future__ import annotations

import json
from pathlib import Path

from goalsets.campaign.direct import GRIDS, PAGES, PLACE, describe, questions, table, tables
from goalsets.runs.records import EVALUATIONS
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Job, SuiteChoice, Sweep

ROOT = Path(__file__).parents[2]
SWEEP = Sweep(
    "direct",
    ("tabletop-double-v0",),
    schemes=("gs-direct",),
    seeds=(1, 2),
    suites=(SuiteChoice(),),
    overrides=(
        {"steps": 9},
        {"steps": 9, "inputs": "plain"},
        {"steps": 9, "direct": None, "settings": {"discount": 1.0}},
    ),
)


def record(job: Job, records: Path, **successes: float) -> None:
    place = records / job.name
    place.mkdir(parents=True)
    asked = {
        name: {"success": s, "num_episodes": 50, "query": "asked"} for name, s in successes.items()
    }
    about = {
        "kind": "suite",
        "suite": "tabletop",
        "digest": "abc",
        "step": 9,
        "training_seconds": 90.0,
    }
    ours = {**about, "by_predicate": asked}
    other = {**about, "suite": "another", "by_predicate": {"elsewhere": asked}}
    (place / EVALUATIONS).write_text(json.dumps(ours) + "\n" + json.dumps(other) + "\n")


def test_rows_say_what_was_changed_and_cells_pool_seeds(tmp_path: Path) -> None:
    first, plain, _, again, *_ = SWEEP.jobs()
    record(first, tmp_path, one_cube=1.0, both=0.5)
    record(again, tmp_path, one_cube=0.9, both=0.7)
    record(plain, tmp_path, one_cube=0.1)
    head, _, *rows = table([SWEEP], tmp_path).split("\n")
    assert head == "| task | trained with | one cube | both | seeds | minutes |"
    assert len(rows) == 2  # the third was not recorded
    assert rows[0].startswith("| tabletop-double-v0 | gcbc, gs-direct | 95 [")
    assert "| 60 [" in rows[0]
    assert rows[0].endswith("| 2 | 2 |")
    assert rows[1].startswith("| tabletop-double-v0 | gcbc, gs-direct, inputs plain | 10 [")
    assert rows[1].endswith("| — | 1 | 2 |")
    assert table([SWEEP], tmp_path / "elsewhere") == "Nothing is recorded yet."


def test_configurations_are_described_by_what_differs() -> None:
    assert [describe(job.config, SWEEP) for job in SWEEP.jobs()[:3]] == [
        "gcbc, gs-direct",
        "gcbc, gs-direct, inputs plain",
        "gcbc, gs-direct, direct None, direct_robot None, discount 1.0",
    ]


def test_questions_about_several_objects_have_a_row_each(tmp_path: Path) -> None:
    first, *_ = SWEEP.jobs()
    record(first, tmp_path, one_cube=1.0, both=0.5)
    *_, one, both = questions([SWEEP], tmp_path).split("\n")
    assert one.startswith("| tabletop-double-v0 | one cube | `asked` | 100 [")
    assert both.startswith("| tabletop-double-v0 | both | `asked` | 50 [")
    assert both.endswith("| 1 | 2 |")
    assert "| — |" in both
    assert questions([SWEEP], tmp_path / "elsewhere") == "Nothing is recorded yet."


def test_questions_that_were_asked_by_chains_have_a_column(tmp_path: Path) -> None:
    first, *_ = SWEEP.jobs()
    record(first, tmp_path, both=0.5)
    path = tmp_path / first.name / EVALUATIONS
    planned = {**json.loads(path.read_text().splitlines()[0]), "plan": True}
    planned["by_predicate"]["both"]["success"] = 1.0
    with path.open("a") as file:
        file.write(json.dumps(planned) + "\n")
    *_, first_row, second_row = table([SWEEP], tmp_path).split("\n")
    assert "| gcbc, gs-direct | 50 [" in first_row
    assert "| gcbc, gs-direct, **by a chain** | 100 [" in second_row
    once, chain = questions([SWEEP], tmp_path).split("\n")[-1].split(" | ")[3:5]
    assert once.startswith("50 [")
    assert chain.startswith("100 [")


def test_the_page_shows_what_was_recorded() -> None:
    sweeps = {name: read_sweep(str(ROOT / PLACE / f"{name}.yaml")) for name in GRIDS}
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in PAGES]
    for name, text in tables(sweeps, ROOT / PLACE / "runs").items():
        places = [page for page in pages if f"<!-- results: {name} -->" in page]
        assert places, name
        for page in places:
            assert f"<!-- results: {name} -->\n{text}\n<!-- end -->" in page, name
