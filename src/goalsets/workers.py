"""Workers: processes of their own, and what this machine has for them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

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

_MEMORY_LIMITS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
"""Where Linux says what a container may have, in its two versions."""


def silence(*_: object) -> None:
    """Hear of something, and say nothing."""


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
