"""The local engine and the driver: nothing is repeated, and a failure stays with its run."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from pathlib import Path

import pytest

from goalsets.cli import main
from goalsets.lock import InUseError
from goalsets.runs.run import Run
from goalsets.sweep import survey
from goalsets.sweep.drive import Quiet, run_sweep
from goalsets.sweep.files import write_sweep
from goalsets.sweep.grid import Evaluation, SuiteChoice, SweepError
from goalsets.sweep.local import LocalEngine
from goalsets.sweep.survey import RUNS
from goalsets.sweep.work import Ended
from tests.sweep import noop
from tests.sweep.conftest import TASK, small
from tests.sweep.driving import assert_same_runs, drive, wait_for, where, worked

# Each starts processes that import everything: seconds here, minutes on a busy machine.
pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]


# --- Nothing is repeated ---


def test_a_sweep_continues_and_grows(tmp_path: Path) -> None:
    sweep = small(seeds=(0, 1, 4))
    assert drive(sweep, tmp_path, noop.nothing, only=("*-s0",)).done == 1
    assert worked(tmp_path, sweep) == [1, 0, 0]
    summary = drive(sweep, tmp_path, noop.nothing, processes=2)
    assert (summary.before, summary.done, summary.complete) == (1, 3, True)
    more = dataclasses.replace(sweep, seeds=(0, 1, 4, 5))
    assert drive(more, tmp_path, noop.nothing).complete
    assert worked(tmp_path, more) == [1, 1, 1, 1]


def test_more_to_do_is_done_for_finished_runs(tmp_path: Path) -> None:
    sweep = small(seeds=(0,))
    drive(sweep, tmp_path, noop.nothing)
    more = dataclasses.replace(sweep, evaluation=Evaluation(episodes=1))
    assert survey(tmp_path, more).counts["waiting"] == 1
    drive(more, tmp_path, noop.nothing)
    assert worked(tmp_path, more) == [2]


def test_another_sweep_needs_another_directory(tmp_path: Path) -> None:
    drive(small(seeds=(0,)), tmp_path, noop.nothing)
    with pytest.raises(SweepError, match="holds the sweep 'small', not 'other'"):
        drive(small(name="other"), tmp_path, noop.nothing)
    with pytest.raises(SweepError, match="no run of 'small' matches"):
        drive(small(), tmp_path, noop.nothing, only=("*gciql*",))


def test_workers_hear_where_data_is_to_be(tmp_path: Path) -> None:
    sweep = small(seeds=(0,))
    drive(sweep, tmp_path / "unsaid", noop.data_in)
    drive(sweep, tmp_path / "said", noop.data_in, data_in="disk")
    assert where(tmp_path / "unsaid", sweep) == ["auto"]
    assert where(tmp_path / "said", sweep) == ["disk"]


@pytest.mark.parametrize("together", [False, True])
def test_data_on_disk_changes_nothing(tmp_path: Path, together: bool) -> None:
    sweep = small()
    for place in ("auto", "disk"):
        options = {"data_in": place, "seeds_together": together}
        assert drive(sweep, tmp_path / place, **options).complete
    assert_same_runs(tmp_path / "auto", tmp_path / "disk", sweep)
    log = (tmp_path / "auto" / RUNS / sweep.jobs()[0].name / "run.log").read_text()
    assert "data in memory: a copy takes" in log


# --- Failures stay with their run ---


def test_failures_and_deaths(tmp_path: Path) -> None:
    sweep = small(seeds=(0, 1, 2, 3, 4))
    said: list[str] = []
    engine = LocalEngine(processes=2, do=noop.mixed, say=said.append)
    summary = run_sweep(sweep, tmp_path, engine)
    assert summary.outcomes == {"done": 3, "failed": 2}
    # One that fails is not tried again; a death is followed by two resumptions at most.
    assert worked(tmp_path, sweep) == [1, 1, 3, 2, 1]
    failed = {entry.job.config.seed: entry.status for entry in survey(tmp_path).of("failed")}
    assert failed[1].reason == "it diverged."
    assert failed[2].reason == "its worker died 3 times; the last time by signal 9."
    log = (tmp_path / RUNS / sweep.jobs()[1].name / "run.log").read_text()
    assert "Traceback" in log
    assert "it diverged" in log
    assert sum("died (signal 9); the run is resumed" in text for text in said) == 3
    again = drive(sweep, tmp_path, noop.nothing)
    assert (again.outcomes, again.failed, again.left) == ({}, 2, 0)
    assert drive(sweep, tmp_path, noop.nothing, retry_failed=True).outcomes == {"done": 2}


def test_work_that_cannot_begin_fails(tmp_path: Path) -> None:
    ended: list[Ended] = []

    class Watch(Quiet):
        def ended(self, one: Ended) -> None:
            ended.append(one)

    drive(small(seeds=(0,)), tmp_path, noop.clueless, watch=Watch())
    assert [one.outcome for one in ended] == ["failed"]
    assert "no idea what to do" in ended[0].reason
    assert survey(tmp_path).counts == {"failed": 1}


def test_a_run_that_diverges_is_marked(tmp_path: Path) -> None:
    overrides = {"steps": 40, "batch_size": 32, "hidden": 32}
    sweep = small(
        seeds=(0,), overrides=(overrides, {**overrides, "learning_rate": 1e20, "clip": None})
    )
    summary = drive(sweep, tmp_path)
    assert summary.outcomes == {"done": 1, "failed": 1}
    (failed,) = survey(tmp_path).of("failed")
    assert "diverged by step" in failed.status.reason


# --- Stops, and two drivers ---


def test_stop_leaves_the_rest_waiting(tmp_path: Path) -> None:
    sweep = small(seeds=(0, 1))
    engine = LocalEngine(processes=1, do=noop.until_stopped)
    first = tmp_path / RUNS / sweep.jobs()[0].name / "worked"

    def stop() -> None:
        wait_for(first.exists)
        engine.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    summary = run_sweep(sweep, tmp_path, engine)
    thread.join()
    assert summary.outcomes == {"stopped": 1}
    assert (summary.failed, summary.left) == (0, 2)
    assert survey(tmp_path).counts == {"waiting": 2}


def test_one_driver_at_a_time(tmp_path: Path) -> None:
    sweep = small(seeds=(0,))
    engine = LocalEngine(processes=1, do=noop.until_stopped)
    thread = threading.Thread(target=run_sweep, args=(sweep, tmp_path, engine))
    thread.start()
    try:
        wait_for((tmp_path / RUNS / sweep.jobs()[0].name / "worked").exists)
        with pytest.raises(InUseError, match=f"in use by process {os.getpid()} on"):
            drive(sweep, tmp_path, noop.nothing)
    finally:
        engine.stop()
        thread.join()


# --- From the command to what is read afterwards ---


def test_a_run_of_a_sweep_is_an_ordinary_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = small(
        seeds=(0,),
        evaluation=Evaluation(episodes=1, last=2),
        suites=(SuiteChoice("shipped", 1),),
    )
    write_sweep(sweep, tmp_path / "small.yaml")
    place = tmp_path / "sweep"
    main(["sweep", str(tmp_path / "small.yaml"), "-o", str(place), "--processes", "1"])
    printed = capsys.readouterr()
    assert f"next: goalsets report {place}" in printed.out
    assert "[1/1] done" in printed.err
    run = Run.open(place / RUNS / sweep.jobs()[0].name)
    assert run.config == sweep.jobs()[0].config
    kinds = [(record["kind"], record["step"]) for record in run.evaluations()]
    assert kinds == [("official", 30), ("official", 40), ("suite", 40)]
    # Nothing of it is done twice, and more is added to what there is.
    main(["sweep", str(tmp_path / "small.yaml"), "-o", str(place)])
    assert len(run.evaluations()) == 3
    main(["sweep", "status", str(place)])
    assert TASK in capsys.readouterr().out
    more = dataclasses.replace(sweep, evaluation=Evaluation(episodes=1, last=3))
    drive(more, place)
    assert [r["step"] for r in run.evaluations() if r["kind"] == "official"] == [30, 40, 20]
    assert json.loads((run.path / "status.json").read_text())["attempts"] == 2
