"""The local engine: processes on this machine, as many as there are cores for.

Each worker is a process that takes one assignment after another. If the driver is killed, its
workers write a checkpoint and end.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from goalsets.sweep.devices import VISIBLE, Device, accelerators
from goalsets.sweep.engine import RETRIES, give_up, mark_failed
from goalsets.sweep.grid import SweepError
from goalsets.sweep.work import Assignment, Ended, SamePlace, Work, work
from goalsets.workers import WORKER_ENVIRONMENT, Worker, available_cores, silence

PATIENCE = 20.0
"""Seconds for a worker without a driver to write its checkpoint."""
_THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class _Busy:
    """A worker and its assignment."""

    worker: Worker
    assignment: Assignment
    accelerator: str | None
    """The only accelerator that it sees; None if runs train on processors."""


class LocalEngine:
    """Runs assignments in processes of this machine.

    Args:
        threads: Threads of each run. The default is one, because two runs with one thread each are
            faster than two runs in turn with two threads (`python -m benchmarks sweep`).
        processes: How many runs at a time; by default as many as there are cores for, or one for
            each accelerator.
        device: Where runs train. Each sees one accelerator; if there are more runs than
            accelerators, they share.
        do: What workers do.
        say: Called with a note if a worker died.
    """

    def __init__(
        self,
        threads: int = 1,
        processes: int | None = None,
        device: Device = "cpu",
        do: Work = work,
        say: Callable[[str], None] = silence,
    ) -> None:
        """Start nothing yet."""
        if threads < 1 or (processes is not None and processes < 1):
            raise SweepError(
                f"threads and processes must be 1 or more, got {threads} and {processes}."
            )
        self.threads = threads
        self.device: Device = device
        self._accelerators = accelerators(device)
        self.slots = processes or len(self._accelerators) or max(1, available_cores() // threads)
        self._do, self._say = do, say
        self._stopping = False
        self._told: set[int] = set()
        self._deaths: Counter[str] = Counter()

    def stop(self) -> None:
        """Let runs write a checkpoint and end, and start no others."""
        self._stopping = True

    def run(self, assignments: Sequence[Assignment]) -> Iterator[Ended]:
        """Work on assignments, and yield runs as they end."""
        todo = deque(assignments)
        crew: dict[Connection, _Busy] = {}
        try:
            while (todo and not self._stopping) or crew:
                while todo and len(crew) < self.slots and not self._stopping:
                    busy = self._hire(todo.popleft(), self._idlest(crew))
                    crew[busy.worker.connection] = busy
                if self._stopping:
                    self._tell(crew)
                # With a timeout, because a signal may have asked us to stop.
                for connection in wait(list(crew), timeout=0.5):
                    assert isinstance(connection, Connection)
                    yield from self._hear(crew, connection, todo)
        finally:
            for busy in crew.values():
                busy.worker.process.kill()
                busy.worker.process.join()

    def _hear(
        self, crew: dict[Connection, _Busy], connection: Connection, todo: deque[Assignment]
    ) -> Iterator[Ended]:
        busy = crew[connection]
        answer: list[Ended] | str | None = busy.worker.receive()
        if answer is None:
            del crew[connection]
            yield from self._bury(busy, todo)
            return
        ended = mark_failed(busy.assignment, answer) if isinstance(answer, str) else answer
        if todo and not self._stopping:
            busy.assignment = todo.popleft()
            busy.worker.send(busy.assignment)
        else:
            del crew[connection]
            connection.close()
            busy.worker.process.join()
        yield from ended

    def _idlest(self, crew: dict[Connection, _Busy]) -> str | None:
        """The accelerator with the fewest workers."""
        taken = Counter(busy.accelerator for busy in crew.values())
        return min(self._accelerators, key=lambda name: taken[name], default=None)

    def _hire(self, assignment: Assignment, accelerator: str | None) -> _Busy:
        variables = {**WORKER_ENVIRONMENT, **dict.fromkeys(_THREADS, str(self.threads))}
        if accelerator is not None:
            variables[VISIBLE] = accelerator
        # Not a daemon: daemons may not have children, and evaluations start processes.
        worker = Worker(_serve, (self._do,), variables, daemon=False)
        worker.send(assignment)
        return _Busy(worker, assignment, accelerator)

    def _bury(self, busy: _Busy, todo: deque[Assignment]) -> Iterator[Ended]:
        """Resume the run of a dead worker, unless that run kills its workers."""
        assignment, how = busy.assignment, busy.worker.end()
        name = str(assignment)
        self._deaths[name] += 1
        if self._stopping:
            yield from (Ended(job, "stopped", how) for job in assignment.jobs)
        elif self._deaths[name] > RETRIES:
            yield from give_up(assignment, f"by {how}")
        else:
            self._say(f"the worker of {name} died ({how}); the run is resumed.")
            todo.appendleft(assignment)

    def _tell(self, crew: dict[Connection, _Busy]) -> None:
        """Tell the workers once that it is time to stop."""
        for busy in crew.values():
            process = busy.worker.process
            if process.pid is not None and process.pid not in self._told and process.is_alive():
                self._told.add(process.pid)
                os.kill(process.pid, signal.SIGTERM)


def _serve(connection: Connection, do: Work) -> None:
    """The main loop of a worker: work until the connection closes."""
    stopping = threading.Event()
    # Ctrl-C reaches all processes of the group, but only the driver reacts to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    threading.Thread(target=_follow_the_driver, args=(stopping,), daemon=True).start()
    place = SamePlace()
    while True:
        try:
            assignment: Assignment = connection.recv()
        except (EOFError, OSError):
            return
        try:
            answer = do(assignment, stopping.is_set, place)
        except Exception:  # it failed before the run was claimed, so the status is unchanged
            answer = traceback.format_exc()
        try:
            connection.send(answer)
        except OSError:
            return


def _follow_the_driver(stopping: threading.Event) -> None:
    """If the driver is gone, stop as if it had asked for it, and end soon."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        wait([driver.sentinel])
        stopping.set()
        time.sleep(PATIENCE)
        os._exit(1)
