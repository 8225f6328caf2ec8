"""The page on plugins is true: its plugin and its commands, in processes of their own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.docs.test_code import ROOT, blocks
from tests.plugin_files import goalsets

SHORT = {
    "train": "--steps 8 --batch-size 32 --hidden 32 --threads 1 --evaluate never",
    "eval": "--episodes 1 --workers 1",
}


@pytest.mark.full
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "data"))
    found = [block for block in blocks(ROOT / "docs" / "plugins.md") if block.skipped]
    assert [block.kind for block in found] == ["python", "console", "console"]
    (tmp_path / "my_queries.py").write_text(found[0].body)
    for block in found[1:]:
        for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            _, verb, *words = shlex.split(command)
            done = goalsets(verb, *words, *SHORT[verb].split(), cwd=tmp_path)
            assert done.returncode == (2 if expected else 0), done.stderr
            if expected:
                assert done.stderr == expected
