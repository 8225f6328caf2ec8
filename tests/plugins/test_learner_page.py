"""The learner of docs/your-own-learner.md: it keeps to the contract, and its commands run."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.docs.test_code import ROOT, blocks
from tests.evaluate.conftest import TASK, make_store
from tests.plugin_files import goalsets, run_python

SHORT = {"train": "--steps 20 --batch-size 32 --hidden 32 --threads 1 --evaluate never"}


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "data"))
    make_store(tmp_path / "data" / TASK)
    found = blocks(ROOT / "docs" / "your-own-learner.md")
    (program,) = (block.body for block in found if block.kind == "python")
    (tmp_path / "my_steady.py").write_text(program)
    check = "from goalsets.testing import check_learner; check_learner('steady')"
    done = run_python("-c", check, cwd=tmp_path, plugins="my_steady.py")
    assert done.returncode == 0, done.stderr
    for line in found[-1].body.splitlines():
        _, verb, *words = shlex.split(line.removeprefix("$ "))
        done = goalsets(verb, *words, *SHORT.get(verb, "").split(), cwd=tmp_path)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert (tmp_path / "steady.onnx").exists()
