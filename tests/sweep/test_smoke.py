"""`goalsets sweep cpu-smoke`, from nothing to a report."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from goalsets.sweep import survey

MINUTES = 10
CORES = 2


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_smoke_sweep_runs_to_a_report_in_ten_minutes_of_two_cores(tmp_path: Path) -> None:
    """Data, 20 trainings, their evaluations and suites, tables and figures.

    What is held to the bound is the time of processors, which others on the machine do not change.
    """
    variables = {**os.environ, "GOALSETS_DATA": str(tmp_path / "data")}
    before = _spent()
    for words in (["sweep", "cpu-smoke"], ["report", "sweeps/cpu-smoke", "-o", "report"]):
        done = subprocess.run(
            [sys.executable, "-m", "goalsets", *words],
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    minutes = (_spent() - before) / 60
    print(f"{minutes:.1f} minutes of processors")
    assert survey(tmp_path / "sweeps" / "cpu-smoke").counts == {"done": 20}
    assert list((tmp_path / "report").glob("*.html"))
    assert minutes < MINUTES * CORES


def _spent() -> float:
    """Seconds of processors that children which have ended used, and theirs."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime
