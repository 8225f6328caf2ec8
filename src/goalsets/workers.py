"""Workers: separate processes, and the cores and memory that are available to them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")

# There are as many workers as cores, so each computes in one thread. They draw no pictures, so
# MuJoCo need not look for a display. NumPy and its linear algebra have different code for each kind
# of processor, whose results differ in their last bits; with contacts, that changes an episode. So
# all workers use the code that every x86 processor of the last ten years can run. On other
# processors these variables have no effect.
WORKER_ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "MUJOCO_GL": "disable",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "1",
}

_MEMORY_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
"""The files with the memory limit of a container, in Linux's two versions."""


def silence(*_: object) -> None:
    """Ignore a message."""


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int:
    """About how many bytes of memory this process may still take."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024 * next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):  # not Linux: assume half of all memory
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    limits: list[int] = []
    for name in _MEMORY_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or its content is "max"
            limits.append(int(Path(name).read_text(encoding="ascii")))
    return min([free, *limits])


class Worker:
    """A process, and our end of the connection to it.

    Each worker has its own connection. So a worker that is killed cannot leave a lock behind, and
    its end of the connection closes.

    Args:
        target: The function that the process runs, with its end of the connection and `arguments`.
            It must be a function of a module, because the new process finds it by its name.
        arguments: The arguments of `target`.
        variables: Environment variables in addition to ours.
        daemon: Whether it ends with our process; it must then not start processes itself.
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
        # Close our copy of the worker's end; otherwise we would not notice when it closes.
        theirs.close()

    def send(self, job: object) -> None:
        """Send a job. If the worker is dead, nothing happens here; `receive` then returns None."""
        with contextlib.suppress(OSError):
            self.connection.send(job)

    def receive(self) -> Any:  # noqa: ANN401 - any answer
        """The next message, or None if the worker is dead."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> str:
        """Close the connection of a dead worker, and say how it died."""
        # The connection closes a moment before the process has an exit code.
        self.process.join(timeout=5)
        self.connection.close()
        code = self.process.exitcode
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


@contextlib.contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started inside."""
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
