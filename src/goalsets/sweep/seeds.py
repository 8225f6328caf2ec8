"""Train the seeds of one configuration together; everything else is done one by one."""

from __future__ import annotations

import contextlib
import time
import traceback
from typing import Literal

from goalsets.core import GoalsetsError
from goalsets.sweep.grid import Job
from goalsets.sweep.prepare import open_data
from goalsets.sweep.state import LOG, Claim, ClaimLostError
from goalsets.sweep.work import (
    Assignment,
    Ended,
    Outcome,
    Place,
    Stop,
    is_trained,
    logged,
)
from goalsets.train.loop import DivergedError, StoppedError
from goalsets.train.together import train_together

Claims = list[tuple[Job, Claim]]
Endings = list[tuple[Job, Outcome, str]]


def train_seeds(assignment: Assignment, stop: Stop, place: Place) -> dict[str, Ended]:
    """Train the seeds that are not trained yet; return those that stopped or failed, by name."""
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        claims = [(job, _claim(job, assignment, place, stack)) for job in assignment.jobs]
        claims = [(job, claim) for job, claim in claims if not is_trained(claim.directory, job)]
        if not claims:
            return {}
        try:
            ended: Endings = _train(claims, assignment, stop, place)
        except ClaimLostError as error:
            ended = [(job, "lost", str(error)) for job, _ in claims]
    share = (time.monotonic() - start) / len(claims)
    return {job.name: Ended(job, how, reason, share) for job, how, reason in ended}


def _claim(job: Job, assignment: Assignment, place: Place, stack: contextlib.ExitStack) -> Claim:
    directory = place.open_run(assignment.runs, job)
    claim = Claim(
        directory, assignment.duties.digest, job.config.steps, lambda: place.synchronise(job)
    )
    stack.enter_context(claim)
    return claim


def _train(claims: Claims, assignment: Assignment, stop: Stop, place: Place) -> Endings:
    order = [claim for _, claim in claims]

    def watch(index: int, step: int) -> bool:
        order[index].beat("training", step)
        return stop()

    # The output belongs to all of them; it goes to the log of the first.
    with logged(order[0].directory / LOG):
        try:
            store, data_in = open_data(assignment, place)
            found = train_together(
                [job.config for job, _ in claims],
                store,
                [claim.directory for claim in order],
                pace=assignment.duties.pace,
                stop=watch,
                device=assignment.device,
                data_in=data_in,
                say=print,
            )
        except StoppedError as error:
            return _end(claims, "stopped", str(error))
        except ClaimLostError:
            raise
        except GoalsetsError as error:
            return _end(claims, "failed", str(error))
        except Exception as error:
            traceback.print_exc()
            return _end(claims, "failed", f"{type(error).__name__}: {error}")
    ended: Endings = []
    for (job, claim), result in zip(claims, found, strict=True):
        if isinstance(result, DivergedError):
            claim.end("failed", str(result))
            ended.append((job, "failed", str(result)))
        else:
            claim.beat("trained", job.config.steps)
    return ended


def _end(claims: Claims, state: Literal["stopped", "failed"], reason: str) -> Endings:
    for _, claim in claims:
        claim.end(state, reason)
    return [(job, state, reason) for job, _ in claims]
