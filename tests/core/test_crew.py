"""What a crew does when a job fails, when a worker dies, and when no worker can be prepared."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from goalsets.core import GoalsetsError
from goalsets.crew import MOST_DEATHS, Crew, WorkerError

pytestmark = pytest.mark.full

JOBS = ["good", "bad", "better", "best"]


def prepare(marks: Path, trouble: str) -> Callable[[str], str]:
    """A worker that leaves a mark for each try at a job, and has trouble with the bad one."""

    def handle(job: str) -> str:
        (marks / f"{job}-{len(list(marks.glob(f'{job}-*')))}").touch()
        if job == "bad":
            if trouble == "sentence":
                raise GoalsetsError("expected a good job, got a bad one.")
            if trouble == "error":
                raise ValueError("no such thing")
            if trouble == "end of file":
                raise EOFError("a file ended early")
            if trouble == "death":
                os.kill(os.getpid(), signal.SIGKILL)
        return job.upper()

    if trouble == "unprepared":
        raise GoalsetsError("there is no such run.")
    if trouble == "death at start":
        (marks / f"start-{len(list(marks.glob('start-*')))}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return handle


def work(marks: Path, trouble: str, workers: int = 1) -> tuple[dict[str, str], list[str], str]:
    """What was answered, what was said, and the error at the end."""
    done: dict[str, str] = {}
    said: list[str] = []
    with pytest.raises(WorkerError) as error:
        done.update(Crew(prepare, (marks, trouble), workers, said.append).answer(JOBS))
    return done, said, str(error.value)


def tries(marks: Path, job: str) -> int:
    return len(list(marks.glob(f"{job}-*")))


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        ("sentence", "the bad failed: expected a good job, got a bad one."),
        ("error", "ValueError: no such thing"),
        ("end of file", "EOFError: a file ended early"),
    ],
)
def test_an_error_is_not_tried_again_and_the_others_are_done(
    tmp_path: Path, trouble: str, told: str
) -> None:
    done, said, error = work(tmp_path, trouble)
    assert done == {job: job.upper() for job in JOBS if job != "bad"}
    assert tries(tmp_path, "bad") == 1
    assert said == ["the bad failed and is not tried again; the others continue."]
    assert told in error
    assert ("Traceback" in error) == (trouble != "sentence")


def test_a_death_is_tried_again_and_then_given_up(tmp_path: Path) -> None:
    done, said, error = work(tmp_path, "death", workers=2)
    assert done == {job: job.upper() for job in JOBS if job != "bad"}
    assert tries(tmp_path, "bad") == MOST_DEATHS
    assert said[0] == "a worker died at the bad (the process ended by signal 9); it is done again."
    assert error == (
        f"the bad failed: {MOST_DEATHS} workers died at it. The last: the process ended by signal 9"
    )


def test_a_worker_that_cannot_be_prepared_ends_it_at_once(tmp_path: Path) -> None:
    done, said, error = work(tmp_path, "unprepared", workers=2)
    assert (done, said, error) == ({}, [], "there is no such run.")


@pytest.mark.parametrize("workers", [1, 2])
def test_deaths_before_the_first_job_are_counted(tmp_path: Path, workers: int) -> None:
    done, _, error = work(tmp_path, "death at start", workers)
    assert done == {}
    assert f"{MOST_DEATHS} workers died before their first job" in error
    assert tries(tmp_path, "start") <= MOST_DEATHS + workers


def test_several_failures_are_counted(tmp_path: Path) -> None:
    crew = Crew(prepare, (tmp_path, "sentence"), 1, print)
    with pytest.raises(WorkerError, match="2 of 3 jobs failed. The first is the bad: expected"):
        list(crew.answer(["bad", "good", "bad"]))


@pytest.mark.parametrize("workers", [0, -1])
def test_a_crew_has_workers(workers: int) -> None:
    with pytest.raises(GoalsetsError, match=f"needs 1 worker or more, got {workers}"):
        Crew(prepare, (), workers, print)
