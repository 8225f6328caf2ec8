"""The campaign says what it lacks, and writes the same pages from the same records."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from goalsets.campaign import stages
from goalsets.campaign.times import Estimates
from goalsets.sweep import read_sweep

ROOT = Path(__file__).resolve().parents[2]


def test_every_grid_of_the_results_belongs_to_a_stage() -> None:
    named = {grid for stage in stages.STAGES for grid in stage.grids}
    found = {*Path("results").glob("*/*.yaml")}
    assert found - named == {Path("results/hour/one-cube.yaml")}, "which describes a suite"
    assert named <= found


def test_every_record_belongs_to_a_grid() -> None:
    """A record that no table shows says nothing: it was made with other settings."""
    for stage in stages.STAGES:
        wanted = {job.name for s in stages.STAGES for g in s.grids for job in read_sweep(g).jobs()}
        kept = {
            str(path.parent.relative_to(stage.records))
            for path in stage.records.glob("*/*/config.json")
        }
        assert kept <= wanted, kept - wanted


def test_times_are_those_of_runs_alike() -> None:
    estimates = Estimates([Path("results/hour/runs")])
    sweep = read_sweep("results/hour/double.yaml")
    ours = [(sweep, job) for job in sweep.jobs() if job.config.scheme == "gs-direct"]
    times = estimates.of(ours)
    assert 0.05 < times.training / len(ours) < 0.5, "12,000 steps took 5 to 12 minutes of a core"
    assert times.asking > 0
    assert estimates.of(ours * 2).training == pytest.approx(2 * times.training)
    nothing = Estimates([])
    assert nothing.of(ours).training == nothing.of(ours).asking == 0


def test_what_is_missing_is_listed_once(capsys: pytest.CaptureFixture[str]) -> None:
    said = stages.overview(stages.STAGES)
    missing = {job.name for stage in stages.STAGES for _, _, job in stage.missing()}
    if missing:
        assert int(said.splitlines()[-1].split()[1]) == len(missing)
    else:
        assert said == "All runs have records: nothing to train."
    assert stages.overview(stages.STAGES, ["no such run"]).startswith("All runs have records")
    with pytest.raises(SystemExit):
        stages.main(["chain"])
    assert "there is no stage 'chain'; the stages are plain, chains," in capsys.readouterr().err


@pytest.mark.slow
def test_the_committed_pages_come_from_the_committed_records(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "README.md", "docs", "results"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = listed.stdout.split()
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, tmp_path / file)
    command = [sys.executable, "-m", "goalsets.campaign", "--records"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    changed = [f for f in files if (tmp_path / f).read_bytes() != (ROOT / f).read_bytes()]
    assert changed == []
