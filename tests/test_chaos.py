"""A few minutes of `tools/chaos.py`, which should be run for an hour before a release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHAOS = Path(__file__).parents[1] / "tools" / "chaos.py"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_few_minutes_of_chaos(tmp_path: Path) -> None:
    command = [sys.executable, str(CHAOS), "--minutes", "4", "--place", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "all promises held" in ended.stdout


@pytest.mark.full
def test_help_says_what_it_does() -> None:
    """Also that all of it can be imported, which the fast tests would not notice otherwise."""
    command = [sys.executable, str(CHAOS), "--help"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "python tools/chaos.py --minutes 60" in told
