"""Work that is not training, for tests of engines. In a file of its own: workers are spawned."""

from __future__ import annotations

import os
import signal
import time

from goalsets import GoalsetsError
from goalsets.sweep.state import Claim
from goalsets.sweep.work import Assignment, Ended, Place, Stop, attempt


def note(claim: Claim, word: str) -> int:
    """Note in the run directory that something happened; return how often it has."""
    with (claim.directory / word).open("a") as file:
        file.write("x")
    return (claim.directory / word).stat().st_size


def nothing(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    def do(claim: Claim) -> None:
        note(claim, "worked")

    return [Ended(job, *attempt(job, assignment, place, do)) for job in assignment.jobs]


def where(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Notes on what it would train."""

    def do(claim: Claim) -> None:
        told = f"{assignment.device} {os.environ.get('CUDA_VISIBLE_DEVICES', '')}"
        (claim.directory / "where").write_text(told)

    return [Ended(job, *attempt(job, assignment, place, do)) for job in assignment.jobs]


def schemes(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Notes which plugin it has the scheme `gs-mine` from."""
    from goalsets.relabel.queries import SCHEMES

    def do(claim: Claim) -> None:
        (claim.directory / "where").write_text(str(SCHEMES.plugin_of("gs-mine")))

    return [Ended(job, *attempt(job, assignment, place, do)) for job in assignment.jobs]


def data_in(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Notes where its data would be."""

    def do(claim: Claim) -> None:
        (claim.directory / "where").write_text(assignment.data_in)

    return [Ended(job, *attempt(job, assignment, place, do)) for job in assignment.jobs]


def mixed(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """By seed: 1 fails, 2 always kills its process, 3 kills it once; the others do nothing."""

    def do(claim: Claim) -> None:
        seed, times = assignment.jobs[0].config.seed, note(claim, "worked")
        if seed == 1:
            raise GoalsetsError("it diverged.")
        if seed == 2 or (seed == 3 and times == 1):
            os.kill(os.getpid(), signal.SIGKILL)

    return [Ended(job, *attempt(job, assignment, place, do)) for job in assignment.jobs]


def clueless(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Fails before it has claimed anything."""
    raise RuntimeError("no idea what to do")


def until_stopped(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Works until somebody says stop."""
    from goalsets.train.loop import StoppedError

    def do(claim: Claim) -> None:
        note(claim, "worked")
        while not stop():
            claim.beat("waiting")
            time.sleep(0.02)
        raise StoppedError("stopped.")

    return [Ended(job, *attempt(job, assignment, place, do)) for job in assignment.jobs]


def with_data(assignment: Assignment, stop: Stop, place: Place) -> list[Ended]:
    """Opens its data, and does nothing with it."""
    from goalsets.data.store import Store

    def do(claim: Claim) -> None:
        # As if this machine were another: what lies at the driver's path is not here.
        elsewhere = assignment.data
        fingerprint = assignment.fingerprint
        path = place.copy_of_data(elsewhere, fingerprint)  # type: ignore[attr-defined]
        assert Store.open(path).fingerprint == fingerprint
        note(claim, "worked")

    return [Ended(job, *attempt(job, assignment, place, do)) for job in assignment.jobs]
