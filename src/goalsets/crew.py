"""A crew: hands out jobs to processes, and replaces those that die.

A crew is told how to *prepare* a worker and what jobs there are. Each worker prepares once (makes
an environment, loads a policy) and then answers one job after another. What a job's answer is may
depend on the job alone, never on the worker: so neither the number of workers nor a death changes
a result.

Two things can go wrong, and they are told apart. An *error* would come again with the same job: it
is not tried again. A *death* (a crash, a kill, no memory) may be the machine's: the job is tried
again, `MOST_DEATHS` times in all. Either way the other jobs are done first, then the crew raises.
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
"""Workers that may die at one job, or before their first one, until it is given up."""

AHEAD = 2
"""Jobs that a worker has been given: the one it is at, and one so that it need not wait."""


class WorkerError(GoalsetsError):
    """Jobs that workers failed at or died of. The others are done."""


class Crew(Generic[Job, Answer]):
    """Answers jobs in several processes.

    Args:
        prepare: Called in each worker with `arguments`; returns what answers a job. A function of
            a module: the processes are new ones, and find it by its name.
        arguments: For `prepare`.
        workers: How many processes.
        say: Told of workers that died.
        doing: What is done with a job, for that message: "collected", "run".
    """

    def __init__(
        self,
        prepare: Callable[..., Callable[[Job], Answer]],
        arguments: tuple[Any, ...],
        workers: int,
        say: Callable[[str], None],
        doing: str = "done",
    ) -> None:
        """Start nothing yet."""
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
        """Yield jobs and answers as they are finished; closing the iterator stops the workers.

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
        """Know that a worker is prepared. If it cannot be, no other can."""
        if isinstance(message, _Unprepared):
            raise WorkerError(message.reason)
        busy.ready, self._deaths_at_start = True, 0

    def _replace(
        self, dead: _Busy[Job], crew: dict[Connection, _Busy[Job]], todo: deque[Job]
    ) -> None:
        """Hire another worker for one that died; not if they die at the start and some work."""
        self._bury(dead, alone=not crew)
        todo.extendleft(reversed(dead.jobs))
        if todo and not (crew and self._deaths_at_start >= MOST_DEATHS):
            self._hire(crew, todo)

    def _bury(self, busy: _Busy[Job], alone: bool) -> None:
        """Report a worker that died, and decide whether its job is tried again.

        Args:
            busy: The worker. A job that is given up is taken from it.
            alone: Whether it was the last one.
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
        """Keep what went wrong with a job until the others are done."""
        if not self._failures:
            self._say(f"the {job} failed and is not tried again; the others go on.")
        self._failures.append((job, reason))

    def _summary(self, count: int) -> str:
        job, reason = self._failures[0]
        if len(self._failures) == 1:
            return f"the {job} failed: {reason}"
        return f"{len(self._failures)} of {count} jobs failed. The first is the {job}: {reason}"


@dataclass
class _Busy(Generic[Job]):
    """A worker and what it has to do."""

    worker: Worker
    jobs: deque[Job] = field(default_factory=deque[Job])
    ready: bool = False
    """Whether it has been prepared."""

    def take(self, todo: deque[Job]) -> None:
        """Have enough to do."""
        while todo and len(self.jobs) < AHEAD:
            self.jobs.append(todo.popleft())
            self.worker.send(self.jobs[-1])

    def dismiss(self) -> None:
        """End the worker; it holds nothing that could be lost."""
        self.worker.connection.close()
        self.worker.process.terminate()
        self.worker.process.join()


@dataclass(frozen=True)
class _Ready:
    """A worker says that it is prepared."""


@dataclass(frozen=True)
class _Unprepared:
    """A worker says why it cannot be prepared; another would say the same."""

    reason: str


@dataclass(frozen=True)
class _Done:
    """The answer to a job."""

    answer: Any


@dataclass(frozen=True)
class _Failed:
    """A worker says why a job has no answer; it goes on with the next one."""

    reason: str


def _work(
    connection: Connection,
    prepare: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...],
) -> None:
    """What a worker does: answer until the line closes."""
    # Ctrl-C reaches the whole group of processes, but the one that started us decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Where nobody is there any more, what was under way is done again next time.
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
    """What to tell of an error: its sentence if it is ours, else all that is known."""
    return str(error) if isinstance(error, GoalsetsError) else traceback.format_exc()
