"""How well verdicts predict success: which records count, and the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goalsets.campaign.check import evaluated, read_records, table
from goalsets.data.store import Store
from tests.check.conftest import episodes, make_run, make_store

ROOT = Path(__file__).parents[2]


def row(verdict: str, score: float, success: float, **fields: Any) -> dict[str, Any]:
    told = {"run": "r", "step": 1, "task": "t", "verdict": verdict, "score": score}
    return {**told, "success": success, **fields}


def test_the_table_tells_agreement_and_disagreement() -> None:
    words = ("no-go", "caution", "caution", "go", "go")
    right = [row(w, s / 10, s / 10) for w, s in zip(words, (0, 3, 5, 8, 9), strict=True)]
    line = table(right).splitlines()[-1]
    assert line == "| all | 1 | 5 | 85 (2) | 40 (2) | 0 (1) | 0.95 | 1.00 |"
    wrong = [row(w, -s, s / 10) for w, s in zip(words, (9, 8, 5, 3, 0), strict=True)]
    assert table(wrong).splitlines()[-1].endswith("| -0.95 | -1.00 |")


def test_too_little_has_no_correlation() -> None:
    assert table([]) == "Nothing is recorded yet."
    assert table([row("go", 1.0, 1.0)]).splitlines()[-1].endswith("| — | — |")


@pytest.mark.full
def test_records_count_where_the_weights_were_kept(tmp_path: Path) -> None:
    store: Store = make_store(tmp_path / "store", episodes(5, 0), held_out=2)
    run = make_run(tmp_path / "run", store, 2)
    official = {"kind": "official", "success": 0.5, "num_episodes": 10}
    asked = {"a": {"query": "eff_pos", "success": 1.0}, "b": {"query": "x", "not_asked": "why"}}
    for record in (
        {**official, "step": 2},
        {**official, "step": 1},  # whose weights are gone
        {**official, "step": 2, "plan": True, "success": 1.0},  # by a chain
        {"kind": "suite", "step": 2, "digest": "abc", "by_predicate": asked},
    ):
        run.add_evaluation(record)
    found = evaluated(run)
    assert list(found) == [2]
    assert {name: told["success"] for name, told in found[2].items()} == {"official": 0.5, "a": 1.0}


@pytest.mark.parametrize(("file", "place"), [("chosen", "verdicts"), ("after", "verdicts_after")])
def test_the_tables_in_the_docs_are_those_of_the_records(file: str, place: str) -> None:
    rows = read_records(ROOT / f"results/check/{file}.jsonl")
    page = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    assert f"<!-- results: {place} -->\n{table(rows)}\n<!-- end -->" in page
