"""The notebooks run, print what they hold, and are small."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import notebooks

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(ROOT.glob("docs/notebooks/*.ipynb"))


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_holds(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    notebook = notebooks.read(path)
    cells = notebooks.code_cells(notebook)
    for cell, outputs in zip(cells, notebooks.execute(notebook), strict=True):
        assert bool(outputs) == bool(cell["outputs"]), "run tools/notebooks.py"
        if not notebooks.varies(cell):
            assert notebooks.text_of(outputs) == notebooks.text_of(cell["outputs"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_was_executed(path: Path) -> None:
    assert path.stat().st_size < 60_000
    for cell in notebooks.code_cells(notebooks.read(path)):
        assert "Error" not in notebooks.text_of(cell["outputs"])
    assert any(cell["outputs"] for cell in notebooks.code_cells(notebooks.read(path)))


def test_there_are_notebooks() -> None:
    assert {"the-idea", "my-own-logs"} <= {path.stem for path in NOTEBOOKS}
