"""The front page: short, and every number on it is found in the records."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalsets.campaign.chains import ALL, PLACE, front_rows, recorded
from goalsets.campaign.front import Row, draw_front, front_table, in_the_paper
from goalsets.report.figures.drawing import short_task
from goalsets.report.published import published_scores
from goalsets.sweep import read_sweep

ROOT = Path(__file__).parents[2]
ONCE = {"success": 0.5, "num_episodes": 50, "training_seconds": 240.0, "processor_seconds": 120.0}
CHAIN = {**ONCE, "success": 1.0}


def test_a_row_sets_ours_beside_the_paper() -> None:
    (_, _, line) = front_table([Row("cube-double-play-v0", [ONCE], [CHAIN], 10.0)]).split("\n")
    assert line == "| cube-double-play | 65 | 50 [37, 63] | **100 [93, 100]** | 12 |"
    assert in_the_paper(["puzzle-3x3-play-v0", "scene-play-v0"]) == ["scene-play-v0"]


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    draw_front([Row("scene-play-v0", [ONCE], [CHAIN], None)], tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 5_000


def test_the_readme_is_short_and_nothing_is_missing_on_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") < 120
    assert "missing" not in text


@pytest.mark.parametrize("chain", [False, True])
def test_each_number_of_its_table_is_in_the_records(chain: bool) -> None:
    sweeps = [read_sweep(str(ROOT / PLACE / f"{name}.yaml")) for name in ALL]
    rows = front_rows(recorded(sweeps, ROOT / PLACE / "runs"), {})
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [line for line in text.split("\n") if line.startswith("| ") and line.endswith("|")]
    for row in rows:
        (line,) = [each for each in shown if each.startswith(f"| {short_task(row.task)} |")]
        cell = line.split(" | ")[3 if chain else 2].strip("*")
        records = row.by_chain if chain else row.at_once
        mean = 100 * sum(r["success"] for r in records) / len(records)
        assert cell.startswith(f"{mean:.0f} ["), (row.task, cell)
    assert {task for _, task, _ in published_scores()} >= {row.task for row in rows}
