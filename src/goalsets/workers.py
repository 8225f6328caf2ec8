"""Workers side by side: hands out jobs to processes, and replaces those that die.

A crew is told how to *prepare* a worker and what jobs there are. Each worker prepares once (makes
an environment, loads a policy) and then answers one job after another. What a job's answer is may
depend on the job alone, never on the worker: so neither the number of workers nor a death changes
a result.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Generic, TypeVar

from goalsets.core import GoalsetsError

Job = TypeVar("Job")
Answer = TypeVar("Answer")

# Workers share the cores by being many, so each computes in one thread; and they draw nothing, so
# MuJoCo need not look for a display. NumPy and its linear algebra have other code for each kind of
# processor, whose results differ in their last bits; contacts make another episode of that. So all
# take the code that every x86 processor of the last ten years can run; others do not hear of it.
WORKER_ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "MUJOCO_GL": "disable",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
}

MOST_DEATHS = 2

_MEMORY_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
"""Where Linux says what a container may have, in its two versions."""

AHEAD = 2
"""Jobs that a worker has been given: the one it is at, and one so that it need not wait."""


def silence(*_: object) -> None:
    """Hear of something, and say nothing."""


class WorkerError(GoalsetsError):
    """A job that two workers died of."""


def available_cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int:
    """How many bytes of memory this process may still take, about."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024 * next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):  # not Linux: half of what is built in
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    limits: list[int] = []
    for name in _MEMORY_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or it says "max"
            limits.append(int(Path(name).read_text(encoding="ascii")))
    return min([free, *limits])


@dataclass
class _Worker(Generic[Job]):
    """A process, our end of the line to it, and what it has to do."""

    process: BaseProcess
    connection: Connection
    jobs: deque[Job] = field(default_factory=deque[Job])


class Crew(Generic[Job, Answer]):
    """Answers jobs in several processes.

    Each worker has a line of its own: one that is killed cannot leave a lock behind, and its end of
    the line closes.

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
        self._start = (prepare, arguments)
        self._workers = workers
        self._say = say
        self._doing = doing
        self._deaths: Counter[Job] = Counter()

    def answer(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        """Yield jobs and answers as they are finished; closing the iterator stops the workers."""
        todo = deque(jobs)
        crew: dict[Connection, _Worker[Job]] = {}
        try:
            while todo and len(crew) < self._workers:
                self._hire(crew, todo)
            while crew:
                for connection in wait(list(crew)):
                    assert isinstance(connection, Connection)
                    worker = crew[connection]
                    answer = _receive(connection)
                    if isinstance(answer, _Done):
                        finished = worker.jobs.popleft()
                        _keep_busy(worker, todo)
                        if not worker.jobs:
                            _dismiss(crew.pop(connection))
                        yield finished, answer.answer
                    else:
                        self._bury(crew.pop(connection), answer)
                        todo.extendleft(reversed(worker.jobs))
                        self._hire(crew, todo)
        finally:
            for worker in crew.values():
                _dismiss(worker)

    def _hire(self, crew: dict[Connection, _Worker[Job]], todo: deque[Job]) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, *self._start), daemon=True)
        with environment(WORKER_ENVIRONMENT):
            process.start()
        # As long as we held their end too, we would not see it close.
        theirs.close()
        crew[ours] = _Worker(process, ours)
        _keep_busy(crew[ours], todo)

    def _bury(self, worker: _Worker[Job], last_words: str | None) -> None:
        """Report a worker that died; a second death at the same job is the end."""
        # Its end of the line closes a moment before it has an exit code.
        worker.process.join(timeout=5)
        _dismiss(worker)
        job = worker.jobs[0]
        how = last_words or f"the process ended with code {worker.process.exitcode}"
        self._deaths[job] += 1
        if self._deaths[job] >= MOST_DEATHS:
            raise WorkerError(
                f"two workers died at the {job}, so it is not tried again. The last: {how}"
            )
        self._say(f"a worker died at the {job} ({how.strip()}); it is {self._doing} again.")


@dataclass(frozen=True)
class _Done:
    """An answer on the line; a text there is the last words of a worker."""

    answer: Any


def _work(
    connection: Connection,
    prepare: Callable[..., Callable[[Any], Any]],
    arguments: tuple[Any, ...],
) -> None:
    """What a worker does: answer until the line closes. An exception is answered by its text."""
    # Ctrl-C reaches the whole group of processes, but the one that started us decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        handle = prepare(*arguments)
        while True:
            connection.send(_Done(handle(connection.recv())))
    except (EOFError, BrokenPipeError):
        # Nobody is there any more. What was under way is done again next time.
        return
    except Exception:
        connection.send(traceback.format_exc())


def _receive(connection: Connection) -> _Done | str | None:
    """An answer, the text of an exception, or None when the line is dead."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


def _keep_busy(worker: _Worker[Job], todo: deque[Job]) -> None:
    while todo and len(worker.jobs) < AHEAD:
        worker.jobs.append(todo.popleft())
        # A worker that is dead already does not answer: that is where its death is seen.
        with contextlib.suppress(OSError):
            worker.connection.send(worker.jobs[-1])


def _dismiss(worker: _Worker[Any]) -> None:
    """End a worker; it holds nothing that could be lost."""
    worker.connection.close()
    worker.process.terminate()
    worker.process.join()


@contextlib.contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables for processes that start inside."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
