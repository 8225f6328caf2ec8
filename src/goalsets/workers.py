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


class Worker:
    """A process, and our end of the line to it.

    Each has a line of its own: one that is killed cannot leave a lock behind, and its end of the
    line closes.

    Args:
        target: What the process does, with its end of the line and `arguments`. A function of a
            module: the process is a new one, and finds it by its name.
        arguments: For `target`.
        variables: Its environment, beside ours.
        daemon: Whether it ends with us; if so, it may have no processes of its own.
    """

    def __init__(
        self,
        target: Callable[..., None],
        arguments: tuple[Any, ...],
        variables: dict[str, str] = WORKER_ENVIRONMENT,
        daemon: bool = True,
    ) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=target, args=(theirs, *arguments), daemon=daemon)
        with environment(variables):
            self.process.start()
        # As long as we held their end too, we would not see it close.
        theirs.close()

    def send(self, job: object) -> None:
        """Hand out a job. A worker that is dead does not answer: there its death is seen."""
        with contextlib.suppress(OSError):
            self.connection.send(job)

    def receive(self) -> Any:  # noqa: ANN401 - whatever it answers
        """What came, or None when the line is dead."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> str:
        """Close the line of a worker that is dead, and say how it died."""
        # Its end of the line closes a moment before it has an exit code.
        self.process.join(timeout=5)
        self.connection.close()
        code = self.process.exitcode
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


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
        self._start = (prepare, arguments)
        self._workers = workers
        self._say = say
        self._doing = doing
        self._deaths: Counter[Job] = Counter()

    def answer(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Answer], None, None]:
        """Yield jobs and answers as they are finished; closing the iterator stops the workers."""
        todo = deque(jobs)
        crew: dict[Connection, _Busy[Job]] = {}
        try:
            while todo and len(crew) < self._workers:
                self._hire(crew, todo)
            while crew:
                for connection in wait(list(crew)):
                    assert isinstance(connection, Connection)
                    busy = crew[connection]
                    answer = busy.worker.receive()
                    if isinstance(answer, _Done):
                        finished = busy.jobs.popleft()
                        busy.take(todo)
                        if not busy.jobs:
                            crew.pop(connection).dismiss()
                        yield finished, answer.answer
                    else:
                        self._bury(crew.pop(connection), answer)
                        todo.extendleft(reversed(busy.jobs))
                        self._hire(crew, todo)
        finally:
            for busy in crew.values():
                busy.dismiss()

    def _hire(self, crew: dict[Connection, _Busy[Job]], todo: deque[Job]) -> None:
        busy = _Busy[Job](Worker(_work, self._start))
        crew[busy.worker.connection] = busy
        busy.take(todo)

    def _bury(self, busy: _Busy[Job], last_words: str | None) -> None:
        """Report a worker that died; a second death at the same job is the end."""
        how = last_words or f"the process ended by {busy.worker.end()}"
        busy.dismiss()
        job = busy.jobs[0]
        self._deaths[job] += 1
        if self._deaths[job] >= MOST_DEATHS:
            raise WorkerError(
                f"two workers died at the {job}, so it is not tried again. The last: {how}"
            )
        self._say(f"a worker died at the {job} ({how.strip()}); it is {self._doing} again.")


@dataclass
class _Busy(Generic[Job]):
    """A worker and what it has to do."""

    worker: Worker
    jobs: deque[Job] = field(default_factory=deque[Job])

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
