"""Every example runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/[0-9]*.py"))


def marked(example: Path):
    """An example that says of itself "Slow:" runs with the slow tests."""
    slow = "Slow:" in example.read_text(encoding="utf-8")
    mark = pytest.mark.slow if slow else pytest.mark.full
    return pytest.param(example, marks=mark, id=example.name)


@pytest.mark.parametrize("example", [marked(example) for example in EXAMPLES])
def test_example(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_there_are_examples() -> None:
    assert EXAMPLES
