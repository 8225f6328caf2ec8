"""The local engine: processes on this machine, as many as fit.

Each worker is a process of its own that works on one assignment after another. It dies with the
driver: when the driver is killed, its workers write a checkpoint and leave.
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
"""Seconds that an orphan has to write its checkpoint."""
_THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class _Busy:
    """A worker and what it works on."""

    worker: Worker
    assignment: Assignment
    accelerator: str | None
    """The only one that it sees, where runs train on accelerators."""


class LocalEngine:
    """Runs assignments in processes of this machine.

    Args:
        threads: Threads of each run. One by default: two runs of one thread got more done than
            one of two threads (`python -m benchmarks sweep`).
        processes: How many runs side by side; unless given, as many as there are cores for, or one
            for each accelerator.
        device: Where runs train. Each sees one accelerator; where there are more runs than
            accelerators, they share.
        do: What workers do.
        say: Told of workers that died.
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
        """Let runs write a checkpoint and end, and begin no others."""
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
                # Not for ever: a signal may have told us to stop.
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
        """The accelerator that fewest workers have."""
        taken = Counter(busy.accelerator for busy in crew.values())
        return min(self._accelerators, key=lambda name: taken[name], default=None)

    def _hire(self, assignment: Assignment, accelerator: str | None) -> _Busy:
        variables = {**WORKER_ENVIRONMENT, **dict.fromkeys(_THREADS, str(self.threads))}
        if accelerator is not None:
            variables[VISIBLE] = accelerator
        # No daemon: those may not have children, and evaluations run in processes of their own.
        worker = Worker(_serve, (self._do,), variables, daemon=False)
        worker.send(assignment)
        return _Busy(worker, assignment, accelerator)

    def _bury(self, busy: _Busy, todo: deque[Assignment]) -> Iterator[Ended]:
        """Have the run of a dead worker resumed, unless it is the run that kills."""
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
        """Pass on that it is time to stop, once."""
        for busy in crew.values():
            process = busy.worker.process
            if process.pid is not None and process.pid not in self._told and process.is_alive():
                self._told.add(process.pid)
                os.kill(process.pid, signal.SIGTERM)


def _serve(connection: Connection, do: Work) -> None:
    """What a worker does: work until the line closes."""
    stopping = threading.Event()
    # Ctrl-C reaches the whole group of processes, but the driver decides what to do.
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
        except Exception:  # it went wrong before the run was claimed: its status is as it was
            answer = traceback.format_exc()
        try:
            connection.send(answer)
        except OSError:
            return


def _follow_the_driver(stopping: threading.Event) -> None:
    """When the driver is gone, stop as if it had said so, and do not take long."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        wait([driver.sentinel])
        stopping.set()
        time.sleep(PATIENCE)
        os._exit(1)
