"""Real trainings that are stopped and killed end as those that nobody disturbed."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from goalsets.runs.weights import CHECKPOINT
from goalsets.sweep import survey
from goalsets.sweep.drive import run_sweep
from goalsets.sweep.grid import Sweep
from goalsets.sweep.local import LocalEngine
from goalsets.sweep.state import read_status
from goalsets.sweep.survey import RUNS
from goalsets.train.log import METRICS
from goalsets.train.session import Pace
from tests.sweep.conftest import small
from tests.sweep.driving import assert_same_runs, drive, start_driver, train_apart, wait_for

# Each starts processes that import everything: seconds here, minutes on a busy machine.
pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]


@pytest.fixture(scope="session")
def undisturbed(data_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, Path]:
    """A sweep, and its runs as `goalsets train` makes them, without engine or driver."""
    overrides = {"steps": 300, "batch_size": 32, "hidden": 32}
    sweep = small(seeds=(0, 1, 2), overrides=(overrides,), pace=Pace(10, 15))
    place = tmp_path_factory.mktemp("undisturbed")
    train_apart(sweep, place, data_home)
    return sweep, place


def test_killing_the_driver_loses_and_repeats_nothing(
    tmp_path: Path, undisturbed: tuple[Sweep, Path]
) -> None:
    sweep, reference = undisturbed
    place = tmp_path / "killed"
    first, second = sweep.jobs()[:2]
    driver = start_driver(sweep, place, "--processes", "1")
    wait_for((place / RUNS / second.name / CHECKPOINT).exists)
    driver.kill()
    driver.communicate()
    orphan = read_status(place / RUNS / second.name).pid
    finished = (place / RUNS / first.name / CHECKPOINT).stat().st_mtime_ns
    again = start_driver(sweep, place, "--processes", "1")
    _, err = again.communicate(timeout=250)
    assert again.returncode == 0, err
    assert "1 of 3 runs are done already" in err
    assert (place / RUNS / first.name / CHECKPOINT).stat().st_mtime_ns == finished
    assert [entry.status.attempts for entry in survey(place).entries] == [1, 2, 1]
    assert_same_runs(reference, place, sweep)
    wait_for(lambda: not Path(f"/proc/{orphan}").exists())


def test_a_worker_that_is_killed_is_resumed(
    tmp_path: Path, undisturbed: tuple[Sweep, Path]
) -> None:
    sweep, reference = undisturbed
    sweep = dataclasses.replace(sweep, seeds=(1,))
    run = tmp_path / RUNS / sweep.jobs()[0].name

    def kill() -> None:
        wait_for((run / CHECKPOINT).exists)
        os.kill(read_status(run).pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    assert drive(sweep, tmp_path).complete
    thread.join()
    assert read_status(run).attempts == 2
    assert_same_runs(reference, tmp_path, sweep)


def _interrupted(sweep: Sweep, place: Path) -> tuple[int, str]:
    """Run a sweep until its run has metrics, then press Ctrl-C; the exit code and the errors."""
    driver = start_driver(sweep, place)
    wait_for((place / RUNS / sweep.jobs()[0].name / METRICS).exists)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    _, err = driver.communicate(timeout=250)
    return driver.returncode, err


def test_ctrl_c_stops_with_a_checkpoint(tmp_path: Path, undisturbed: tuple[Sweep, Path]) -> None:
    sweep, reference = undisturbed
    # There is no other moment for a checkpoint than the stop.
    sweep = dataclasses.replace(sweep, seeds=(2,), pace=Pace(10, 100_000))
    place = tmp_path / "stopped"
    code, err = _interrupted(sweep, place)
    for attempt in range(10):  # the run takes a second, and may be done before the signal
        if code != 0:
            break
        place = tmp_path / f"stopped-{attempt}"
        code, err = _interrupted(sweep, place)
    run = place / RUNS / sweep.jobs()[0].name
    assert code == 130, err
    assert "run the same command again to continue" in err
    assert "failed" not in err
    status = read_status(run)
    assert status.state == "stopped"
    assert 10 <= status.step < 300
    assert (run / CHECKPOINT).exists()
    assert drive(sweep, place).complete
    assert_same_runs(reference, place, sweep)


def test_seeds_together(tmp_path: Path, undisturbed: tuple[Sweep, Path]) -> None:
    sweep, reference = undisturbed
    engine = LocalEngine(processes=1)
    summary = run_sweep(sweep, tmp_path, engine, seeds_together=True)
    assert summary.outcomes == {"done": 3}
    for job in sweep.jobs():
        alone, together = (
            load_file(place / RUNS / job.name / f"weights/step-{job.config.steps}.safetensors")
            for place in (reference, tmp_path)
        )
        for name, value in alone.items():
            torch.testing.assert_close(value, together[name], rtol=1e-3, atol=1e-3)
    # It is the same run, by the same name: apart, nothing is left to do.
    assert drive(sweep, tmp_path).outcomes == {}
