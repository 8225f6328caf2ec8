"""Whose a run is, how it stands, and what is left to do."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest

from goalsets.sweep import survey
from goalsets.sweep.state import Claim, ClaimLostError, Status, read_status, write_status
from goalsets.sweep.survey import RUNS
from tests.sweep import noop
from tests.sweep.conftest import small
from tests.sweep.driving import drive


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
    # Of a part of the sweep, it is the time of that part.
    assert survey(tmp_path, sweep, ("*-s0", "*-s2")).seconds_left(1) == 100
