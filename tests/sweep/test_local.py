"""The local engine and the driver: deaths, restarts, stops."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from goalsets.cli import main
from goalsets.data.store import Store
from goalsets.sweep import survey
from goalsets.sweep.drive import Quiet, Summary, run_sweep
from goalsets.sweep.files import write_sweep
from goalsets.sweep.grid import Evaluation, SuiteChoice, Sweep, SweepError
from goalsets.sweep.local import LocalEngine
from goalsets.sweep.state import Claim, ClaimLostError, Status, read_status, write_status
from goalsets.sweep.survey import RUNS
from goalsets.sweep.work import Ended, Work, work
from goalsets.train.checkpoint import CHECKPOINT
from goalsets.train.log import METRICS
from goalsets.train.run import Run
from goalsets.train.session import Pace, train
from tests.sweep import noop
from tests.sweep.conftest import TASK, small

# Each starts processes that import everything: seconds here, minutes on a busy machine.
pytestmark = pytest.mark.timeout(300)


def drive(
    sweep: Sweep, place: Path, do: Work = work, processes: int = 1, **options: object
) -> Summary:
    return run_sweep(sweep, place, LocalEngine(processes=processes, do=do), **options)


def assert_same_runs(left: Path, right: Path, sweep: Sweep) -> None:
    """Equal weights, optimisers and generators, and equal metrics but for the time."""
    for job in sweep.jobs():
        ours, theirs = left / RUNS / job.name, right / RUNS / job.name
        a, b = load_file(ours / CHECKPOINT), load_file(theirs / CHECKPOINT)
        assert a.keys() == b.keys()
        assert all(torch.equal(a[key], b[key]) for key in a)
        rows = [
            [line.split(",")[:1] + line.split(",")[2:] for line in text.splitlines()]
            for text in ((path / METRICS).read_text() for path in (ours, theirs))
        ]
        assert rows[0] == rows[1]


def worked(place: Path, sweep: Sweep) -> list[int]:
    """How often each run was begun."""
    files = [place / RUNS / job.name / "worked" for job in sweep.jobs()]
    return [file.stat().st_size if file.exists() else 0 for file in files]


# --- Nothing is repeated ---


@pytest.mark.full
def test_a_sweep_continues_and_grows(tmp_path: Path) -> None:
    sweep = small(seeds=(0, 1, 4))
    assert drive(sweep, tmp_path, noop.nothing, only=("*-s0",)).done == 1
    assert worked(tmp_path, sweep) == [1, 0, 0]
    summary = drive(sweep, tmp_path, noop.nothing, processes=2)
    assert (summary.before, summary.done, summary.complete) == (1, 3, True)
    more = dataclasses.replace(sweep, seeds=(0, 1, 4, 5))
    assert drive(more, tmp_path, noop.nothing).complete
    assert worked(tmp_path, more) == [1, 1, 1, 1]


@pytest.mark.full
def test_more_to_do_is_done_for_finished_runs(tmp_path: Path) -> None:
    sweep = small(seeds=(0,))
    drive(sweep, tmp_path, noop.nothing)
    more = dataclasses.replace(sweep, evaluation=Evaluation(episodes=1))
    assert survey(tmp_path, more).counts["waiting"] == 1
    drive(more, tmp_path, noop.nothing)
    assert worked(tmp_path, more) == [2]


@pytest.mark.full
def test_another_sweep_needs_another_directory(tmp_path: Path) -> None:
    drive(small(seeds=(0,)), tmp_path, noop.nothing)
    with pytest.raises(SweepError, match="holds the sweep 'small', not 'other'"):
        drive(small(name="other"), tmp_path, noop.nothing)
    with pytest.raises(SweepError, match="no run of 'small' fits"):
        drive(small(), tmp_path, noop.nothing, only=("*gciql*",))


# --- Failures stay with their run ---


@pytest.mark.full
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
    assert drive(sweep, tmp_path, noop.nothing).outcomes == {}
    assert drive(sweep, tmp_path, noop.nothing, retry_failed=True).outcomes == {"done": 2}


@pytest.mark.full
def test_work_that_cannot_begin_fails(tmp_path: Path) -> None:
    ended: list[Ended] = []

    class Watch(Quiet):
        def ended(self, one: Ended) -> None:
            ended.append(one)

    drive(small(seeds=(0,)), tmp_path, noop.clueless, watch=Watch())
    assert [one.outcome for one in ended] == ["failed"]
    assert "no idea what to do" in ended[0].reason
    assert survey(tmp_path).counts == {"failed": 1}


@pytest.mark.full
def test_a_run_that_diverges_is_marked(tmp_path: Path) -> None:
    overrides = {"steps": 40, "batch_size": 32, "hidden": 32}
    sweep = small(
        seeds=(0,), overrides=(overrides, {**overrides, "learning_rate": 1e20, "clip": None})
    )
    summary = drive(sweep, tmp_path)
    assert summary.outcomes == {"done": 1, "failed": 1}
    (failed,) = survey(tmp_path).of("failed")
    assert "diverged by step" in failed.status.reason


# --- Claims ---


def test_who_takes_over_a_run_is_obeyed(tmp_path: Path) -> None:
    """The one who was given up for dead puts down its work when it sees the other's signature."""
    entered = threading.Event()

    def second() -> None:
        with Claim(tmp_path, "", 10) as claim:
            entered.set()
            claim.end("done")

    with pytest.raises(ClaimLostError, match="is now worked on by"):
        with Claim(tmp_path, "", 10) as first:
            thread = threading.Thread(target=second)
            thread.start()
            assert not entered.wait(0.5)  # not while the first holds the lock
            first.end("done")
    thread.join()
    assert read_status(tmp_path).attempts == 2


def test_standing_of_a_run(tmp_path: Path) -> None:
    sweep = small(seeds=(0,))
    run = tmp_path / RUNS / sweep.jobs()[0].name
    for status, standing in (
        (Status("running", updated=time.time()), "running"),
        (Status("running", updated=time.time() - 1_000), "waiting"),
        (Status("stopped", updated=time.time()), "waiting"),
        (Status("done", duties="other"), "waiting"),
    ):
        write_status(run, status)
        assert [e.standing for e in survey(tmp_path, sweep).entries] == [standing]
    (run / "status.json").write_text("{")
    assert survey(tmp_path, sweep).counts["waiting"] == 1


@pytest.mark.full
def test_time_left_is_that_of_runs_of_the_same_kind(tmp_path: Path) -> None:
    sweep = small(seeds=(0, 1, 2))
    assert survey(tmp_path, sweep).seconds_left(1) is None
    assert drive(sweep, tmp_path, noop.nothing, only=("*-s0",)).outcomes == {"done": 1}
    done = tmp_path / RUNS / sweep.jobs()[0].name
    write_status(done, dataclasses.replace(read_status(done), seconds=100.0))
    running = tmp_path / RUNS / sweep.jobs()[1].name
    write_status(running, Status("running", seconds=40.0, updated=time.time()))
    assert survey(tmp_path, sweep).seconds_left(2) == (60 + 100) / 2


# --- Stops and kills, with real training ---


def start_driver(sweep: Sweep, place: Path, *words: str) -> subprocess.Popen[str]:
    file = place.with_suffix(".yaml")
    write_sweep(sweep, file)
    command = [sys.executable, "-m", "goalsets", "sweep", str(file), "-o", str(place), *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for(true: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def undisturbed(data_home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Sweep, Path]:
    """A sweep, and its runs as `goalsets train` makes them, without engine or driver."""
    overrides = {"steps": 300, "batch_size": 32, "hidden": 32}
    sweep = small(seeds=(0, 1, 2), overrides=(overrides,), pace=Pace(10, 15))
    place = tmp_path_factory.mktemp("undisturbed")
    store = Store.open(data_home / TASK)
    for job in sweep.jobs():
        train(job.config, store, place / RUNS / job.name, pace=sweep.pace_of(job.config))
    return sweep, place


@pytest.mark.full
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
    _, err = again.communicate(timeout=100)
    assert again.returncode == 0, err
    assert "1 of 3 runs are done already" in err
    assert (place / RUNS / first.name / CHECKPOINT).stat().st_mtime_ns == finished
    assert [entry.status.attempts for entry in survey(place).entries] == [1, 2, 1]
    assert_same_runs(reference, place, sweep)
    wait_for(lambda: not Path(f"/proc/{orphan}").exists())


@pytest.mark.full
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


@pytest.mark.full
def test_ctrl_c_stops_with_a_checkpoint(tmp_path: Path, undisturbed: tuple[Sweep, Path]) -> None:
    sweep, reference = undisturbed
    # There is no other moment for a checkpoint than the stop.
    sweep = dataclasses.replace(sweep, seeds=(2,), pace=Pace(10, 100_000))
    place = tmp_path / "stopped"
    run = place / RUNS / sweep.jobs()[0].name
    driver = start_driver(sweep, place)
    wait_for((run / METRICS).exists)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    _, err = driver.communicate(timeout=60)
    assert driver.returncode == 130, err
    assert "the same command continues" in err
    status = read_status(run)
    assert status.state == "stopped"
    assert 10 <= status.step < 300
    assert (run / CHECKPOINT).exists()
    assert drive(sweep, place).complete
    assert_same_runs(reference, place, sweep)


@pytest.mark.full
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
    assert survey(tmp_path).counts == {"waiting": 2}


@pytest.mark.full
def test_one_driver_at_a_time(tmp_path: Path) -> None:
    sweep = small(seeds=(0,))
    engine = LocalEngine(processes=1, do=noop.until_stopped)
    thread = threading.Thread(target=run_sweep, args=(sweep, tmp_path, engine))
    thread.start()
    try:
        wait_for((tmp_path / RUNS / sweep.jobs()[0].name / "worked").exists)
        with pytest.raises(SweepError, match=f"is driven already, by process {os.getpid()} on"):
            drive(sweep, tmp_path, noop.nothing)
    finally:
        engine.stop()
        thread.join()


# --- From the command to what is read afterwards ---


@pytest.mark.full
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


@pytest.mark.full
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
