"""The Ray engine: assignments are tasks of a cluster, which places, retries and cancels them.

A task needs as many processors as its run has threads, and an accelerator if runs train on
accelerators. If its worker or its node dies, Ray starts it again elsewhere, and it continues from
the last checkpoint.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from goalsets.core.extras import require
from goalsets.core.plugins import inherited_variables
from goalsets.sweep.collect import CollectedPlace, Head
from goalsets.sweep.devices import Device
from goalsets.sweep.engine import RETRIES, give_up, mark_failed
from goalsets.sweep.grid import SweepError
from goalsets.sweep.work import Assignment, Ended, Place, SamePlace, Work, work
from goalsets.workers import WORKER_ENVIRONMENT, available_cores, silence

Storage = Literal["auto", "shared", "collect"]
OBJECT_STORE = 100 << 20
"""Bytes of the object store of a cluster that we start; checkpoints and slices of data use it."""


class RayEngine:
    """Runs assignments on a Ray cluster.

    Args:
        address: The cluster, such as `auto`; None starts one on this machine, for this machine.
        threads: Threads of each run.
        device: Where runs train; Ray gives each run its own accelerator.
        storage: Whether the nodes share the driver's files; by default each node checks.
        do: What workers do.
        say: Called with notes on unusual events.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        threads: int = 1,
        device: Device = "cpu",
        storage: Storage = "auto",
        do: Work = work,
        say: Callable[[str], None] = silence,
    ) -> None:
        """Connect to the cluster, or start it."""
        if address is None:
            # Ray reads this variable at import. It makes the cluster listen on this machine only.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ray = import_ray()
        self.threads = threads
        self.device: Device = device
        self._storage, self._do, self._say = storage, do, say
        self._stopping = False
        self._connect(address)

    def _connect(self, address: str | None) -> None:
        ray = self._ray
        if ray.is_initialized():
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if address is not None:
                ray.init(address=address, **quiet)
                return
            ray.init(
                address="local",  # do not join a cluster that happens to run here
                num_cpus=available_cores(),
                object_store_memory=OBJECT_STORE,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                **quiet,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise SweepError(f"cannot reach the Ray cluster {address!r}: {error}") from None

    @property
    def slots(self) -> int:
        """How many assignments the cluster can run at a time, at its current size."""
        found = self._ray.cluster_resources()
        room = [found.get("CPU", 1) // self.threads]
        if self.device != "cpu":
            room.append(found.get("GPU", 0))
        return max(1, int(min(room)))

    def close(self) -> None:
        """Leave the cluster; if we started it, stop it."""
        self._ray.shutdown()

    def stop(self) -> None:
        """Let runs write a checkpoint and end, and start no others."""
        self._stopping = True

    def run(self, assignments: Sequence[Assignment]) -> Iterator[Ended]:
        """Work on assignments, and yield runs as they end."""
        if not assignments:
            return
        ray = self._ray
        head, token = self._start_head(assignments[0].runs)
        if self.device != "cpu" and not ray.cluster_resources().get("GPU"):
            self._say("the cluster has no accelerator: runs wait until a node with one joins it.")
        # Nodes inherit neither our environment nor our files, so send them the plugins' modules.
        variables = inherited_variables()
        task = ray.remote(
            num_cpus=self.threads,
            num_gpus=0 if self.device == "cpu" else 1,
            max_retries=RETRIES,
            retry_exceptions=False,
            runtime_env={"env_vars": variables} if variables else None,
        )(_work_on_node)
        waiting = {
            task.remote(assignment, self._do, head, self._storage, token): assignment
            for assignment in assignments
        }
        told = False
        try:
            while waiting:
                if self._stopping and not told:
                    told = True
                    for reference in waiting:
                        ray.cancel(reference, force=False)
                ready, _ = ray.wait(list(waiting), num_returns=min(len(waiting), 64), timeout=0.5)
                for reference in ready:
                    yield from self._hear(reference, waiting.pop(reference))
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)
            ray.kill(head)

    def _start_head(self, runs: Path) -> tuple[Any, str]:
        """Start the actor beside the driver that serves files to nodes without a shared disk."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self._ray.get_runtime_context().get_node_id()
        actor = self._ray.remote(
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=-1,
            scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
        )(Head)
        token = uuid.uuid4().hex
        runs.mkdir(parents=True, exist_ok=True)
        (runs / _TOKEN).write_text(token, encoding="utf-8")
        return actor.remote(runs), token

    def _hear(self, reference: Any, assignment: Assignment) -> Iterator[Ended]:  # noqa: ANN401 - Ray's
        exceptions = self._ray.exceptions
        try:
            yield from self._ray.get(reference)
        except exceptions.TaskCancelledError:
            yield from (Ended(job, "stopped") for job in assignment.jobs)
        except exceptions.RayTaskError as error:
            if self._stopping:
                yield from (Ended(job, "stopped") for job in assignment.jobs)
            else:
                yield from mark_failed(assignment, str(error))
        except exceptions.RayError as error:
            how = str(error).strip().splitlines()[0]
            yield from give_up(assignment, f"with {type(error).__name__}: {how}")


_TOKEN = ".shared"
"""A file by which a node finds out whether it shares the driver's files."""


def _work_on_node(
    assignment: Assignment,
    do: Work,
    head: Any,  # noqa: ANN401 - a handle of an actor
    storage: Storage,
    token: str,
) -> list[Ended]:
    """What a task does on its node."""
    import ray

    stopping = threading.Event()
    os.environ.update({k: v for k, v in WORKER_ENVIRONMENT.items() if k == "MUJOCO_GL"})
    place: Place = SamePlace()
    if storage == "collect" or (storage == "auto" and not _sees(assignment.runs, token)):
        place = CollectedPlace(head, ray.get_runtime_context().get_node_id())
    # Ray cancels a task by SIGINT, like Ctrl-C; the run then writes a checkpoint.
    before = signal.signal(signal.SIGINT, lambda *_: stopping.set())
    try:
        return do(assignment, stopping.is_set, place)
    finally:
        signal.signal(signal.SIGINT, before)


def _sees(runs: Path, token: str) -> bool:
    with contextlib.suppress(OSError):
        return (runs / _TOKEN).read_text(encoding="utf-8") == token
    return False


def import_ray() -> Any:  # noqa: ANN401 - a module that may not be there
    """Import the library, or say how to get it."""
    return require("ray", "a sweep on a cluster")
