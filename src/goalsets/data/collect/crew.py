"""Workers side by side: hands out episodes, replaces workers that die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from goalsets.data.collect.episode import Job, Rows
from goalsets.data.collect.errors import CollectError
from goalsets.data.collect.recipes import Recipe
from goalsets.data.collect.worker import work

# Workers share the cores by being many, so each computes in one thread; and they draw nothing, so
# MuJoCo need not look for a display.
WORKER_ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "MUJOCO_GL": "disable",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}

MOST_DEATHS = 2

AHEAD = 2
"""Episodes that a worker has been asked for: the one it is at, and one so that it need not wait."""


@dataclass
class _Worker:
    """A process, our end of the line to it, and what it has to do."""

    process: BaseProcess
    connection: Connection
    jobs: deque[Job] = field(default_factory=deque[Job])


class Crew:
    """Collects episodes in several processes.

    Each worker has a line of its own: one that is killed cannot leave a lock behind, and its end of
    the line closes.

    Args:
        recipe: What to collect.
        seed: The seed of the data set.
        workers: How many processes.
        say: Told of workers that died.
    """

    def __init__(self, recipe: Recipe, seed: int, workers: int, say: Callable[[str], None]) -> None:
        """Start nothing yet."""
        self._arguments = (recipe, seed)
        self._workers = workers
        self._say = say
        self._deaths: Counter[Job] = Counter()

    def collect(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Rows], None, None]:
        """Yield episodes as they are finished; closing the iterator stops the workers."""
        todo = deque(jobs)
        crew: dict[Connection, _Worker] = {}
        try:
            while todo and len(crew) < self._workers:
                self._hire(crew, todo)
            while crew:
                for connection in wait(list(crew)):
                    assert isinstance(connection, Connection)
                    worker = crew[connection]
                    answer = _receive(connection)
                    if isinstance(answer, dict):
                        finished = worker.jobs.popleft()
                        _keep_busy(worker, todo)
                        if not worker.jobs:
                            _dismiss(crew.pop(connection))
                        yield finished, answer
                    else:
                        self._bury(crew.pop(connection), answer)
                        todo.extendleft(reversed(worker.jobs))
                        self._hire(crew, todo)
        finally:
            for worker in crew.values():
                _dismiss(worker)

    def _hire(self, crew: dict[Connection, _Worker], todo: deque[Job]) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, *self._arguments), daemon=True)
        with _environment(WORKER_ENVIRONMENT):
            process.start()
        # As long as we held their end too, we would not see it close.
        theirs.close()
        crew[ours] = _Worker(process, ours)
        _keep_busy(crew[ours], todo)

    def _bury(self, worker: _Worker, last_words: str | None) -> None:
        """Report a worker that died; a second death at the same episode ends the collection."""
        # Its end of the line closes a moment before it has an exit code.
        worker.process.join(timeout=5)
        _dismiss(worker)
        job = worker.jobs[0]
        how = last_words or f"the process ended with code {worker.process.exitcode}"
        self._deaths[job] += 1
        if self._deaths[job] >= MOST_DEATHS:
            raise CollectError(
                f"two workers died at the {job}, so it is not tried again. The last: {how}"
            )
        self._say(f"a worker died at the {job} ({how.strip()}); it is collected again.")


def _receive(connection: Connection) -> Rows | str | None:
    """An episode, the text of an exception, or None when the line is dead."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


def _keep_busy(worker: _Worker, todo: deque[Job]) -> None:
    while todo and len(worker.jobs) < AHEAD:
        worker.jobs.append(todo.popleft())
        # A worker that is dead already does not answer: that is where its death is seen.
        with contextlib.suppress(OSError):
            worker.connection.send(worker.jobs[-1])


def _dismiss(worker: _Worker) -> None:
    """End a worker; it holds nothing that could be lost."""
    worker.connection.close()
    worker.process.terminate()
    worker.process.join()


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
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
