"""A crew: gives jobs to worker processes, and replaces workers that die.

A crew knows how to *prepare* a worker, and which jobs there are. Each worker prepares once (it
makes an environment, or loads a policy) and then answers one job after another. The answer must
depend only on the job, never on the worker. So neither the number of workers nor a death changes a
result.

Two things can go wrong. An *error* would happen again with the same job, so the job is not tried
again. A *death* (a crash, a kill, no memory) may be caused by the machine, so the job is tried
again, up to `MOST_DEATHS` times in total. In both cases all other jobs are done first, and then the
crew raises an error.
"""

from __future__ import annotations

import contextlib
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from goalsets.core import GoalsetsError
from goalsets.workers import Worker

Job = TypeVar("Job")
Answer = TypeVar("Answer")

MOST_DEATHS = 2
"""After this many workers have died at one job, or before their first job, it is given up."""

AHEAD = 2
"""How many jobs a worker has at a time: the current one, and one more so that it need not wait."""


class WorkerError(GoalsetsError):
    """Some jobs failed. All other jobs are done."""


class Crew(Generic[Job, Answer]):
    """Answers jobs in several processes.

    Args:
        prepare: Called in each worker with `arguments`; returns a function that answers a job. It
            must be a function of a module, because the new processes find it by its name.
        arguments: The arguments of `prepare`.
        workers: The number of processes.
        say: Called with messages about workers that died.
        doing: What is done with a job, for these messages: "collected", "run".
    """

    def __init__(
        self,
        prepare: Callable[..., Callable[[Job], Answer]],
        arguments: tuple[Any, ...],
        workers: int,
        say: Callable[[str], None],
        doing: str = "done",
    ) -> None:
        """Check the arguments; workers are started later."""
        if workers < 1:
            raise GoalsetsError(f"a crew needs 1 worker or more, got {workers}.")
        self._start = (prepare, arguments)
        self._workers = workers
        self._say = say
        self._doing = doing
        self._deaths: Counter[Job] = Counter()
        self._deaths_at_start = 0
        self._failures: list[tuple[Job, str]] = []

    def answer(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        """Yield jobs and their answers when they are finished; closing it stops the workers.

        Raises:
            WorkerError: At the end, if jobs failed; at once, if no worker can be prepared.
        """
        todo = deque(jobs)
        count = len(todo)
        crew: dict[Connection, _Busy[Job]] = {}
        try:
            while todo and len(crew) < self._workers:
                self._hire(crew, todo)
            while crew:
                for connection in wait(list(crew)):
                    assert isinstance(connection, Connection)
                    busy = crew[connection]
                    message = busy.worker.receive()
                    if isinstance(message, _Done | _Failed):
                        finished = busy.jobs.popleft()
                        busy.take(todo)
                        if not busy.jobs:
                            crew.pop(connection).dismiss()
                        if isinstance(message, _Done):
                            yield finished, message.answer
                        else:
                            self._fail(finished, message.reason)
                    elif isinstance(message, _Ready | _Unprepared):
                        self._start_work(busy, message)
                    else:
                        self._replace(crew.pop(connection), crew, todo)
        finally:
            for busy in crew.values():
                busy.dismiss()
        if self._failures:
            raise WorkerError(self._summary(count))

    def _hire(self, crew: dict[Connection, _Busy[Job]], todo: deque[Job]) -> None:
        busy = _Busy[Job](Worker(_work, self._start))
        crew[busy.worker.connection] = busy
        busy.take(todo)

    def _start_work(self, busy: _Busy[Job], message: _Ready | _Unprepared) -> None:
        """Note that a worker is prepared. If it cannot be prepared, raise an error."""
        if isinstance(message, _Unprepared):
            raise WorkerError(message.reason)
        busy.ready, self._deaths_at_start = True, 0

    def _replace(
        self, dead: _Busy[Job], crew: dict[Connection, _Busy[Job]], todo: deque[Job]
    ) -> None:
        """Replace a worker that died, unless new workers die at the start and others work."""
        self._bury(dead, alone=not crew)
        todo.extendleft(reversed(dead.jobs))
        if todo and not (crew and self._deaths_at_start >= MOST_DEATHS):
            self._hire(crew, todo)

    def _bury(self, busy: _Busy[Job], alone: bool) -> None:
        """Report a worker that died, and decide whether its job is tried again.

        Args:
            busy: The worker. A job that is given up is removed from it.
            alone: Whether it was the last worker.
        """
        how = f"the process ended by {busy.worker.end()}"
        busy.dismiss()
        if not busy.ready:
            self._deaths_at_start += 1
            if alone and self._deaths_at_start >= MOST_DEATHS:
                raise WorkerError(
                    f"{MOST_DEATHS} workers died before their first job, so no more are started. "
                    f"The last: {how}"
                )
            self._say(f"a worker died before its first job ({how}).")
            return
        job = busy.jobs[0]
        self._deaths[job] += 1
        if self._deaths[job] >= MOST_DEATHS:
            self._fail(busy.jobs.popleft(), f"{MOST_DEATHS} workers died at it. The last: {how}")
        else:
            self._say(f"a worker died at the {job} ({how}); it is {self._doing} again.")

    def _fail(self, job: Job, reason: str) -> None:
        """Keep the failure of a job until the others are done."""
        if not self._failures:
            self._say(f"the {job} failed and is not tried again; the others continue.")
        self._failures.append((job, reason))

    def _summary(self, count: int) -> str:
        job, reason = self._failures[0]
        if len(self._failures) == 1:
            return f"the {job} failed: {reason}"
        return f"{len(self._failures)} of {count} jobs failed. The first is the {job}: {reason}"


@dataclass
class _Busy(Generic[Job]):
    """A worker and its jobs."""

    worker: Worker
    jobs: deque[Job] = field(default_factory=deque[Job])
    ready: bool = False
    """Whether it has been prepared."""

    def take(self, todo: deque[Job]) -> None:
        """Take jobs until the worker has enough."""
        while todo and len(self.jobs) < AHEAD:
            self.jobs.append(todo.popleft())
            self.worker.send(self.jobs[-1])

    def dismiss(self) -> None:
        """End the worker; nothing is lost with it."""
        self.worker.connection.close()
        self.worker.process.terminate()
        self.worker.process.join()


@dataclass(frozen=True)
class _Ready:
    """The message of a worker that is prepared."""


@dataclass(frozen=True)
class _Unprepared:
    """The message of a worker that cannot be prepared; it would be the same for another."""

    reason: str


@dataclass(frozen=True)
class _Done:
    """The answer to a job."""

    answer: Any


@dataclass(frozen=True)
class _Failed:
    """The message that a job failed; the worker continues with the next one."""

    reason: str


def _work(
    connection: Connection,
    prepare: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...],
) -> None:
    """The main function of a worker: answer jobs until the connection closes."""
    # Ctrl-C reaches all processes of the group, but only the parent decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # If the parent has ended, the current job is lost; it is done again next time.
    with contextlib.suppress(EOFError, BrokenPipeError):
        try:
            handle = prepare(*arguments)
        except Exception as error:
            connection.send(_Unprepared(_reason(error)))
            return
        connection.send(_Ready())
        while True:
            job = connection.recv()
            try:
                message = _Done(handle(job))
            except Exception as error:
                message = _Failed(_reason(error))
            connection.send(message)


def _reason(error: Exception) -> str:
    """The message of an error if it is one of goalsets; otherwise the whole traceback."""
    return str(error) if isinstance(error, GoalsetsError) else traceback.format_exc()
