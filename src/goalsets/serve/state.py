"""The state of a running server: its models, its bounds, and the requests in progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from goalsets.serve.errors import busy
from goalsets.serve.guard import Guard
from goalsets.serve.limits import Limits
from goalsets.serve.metrics import Metrics
from goalsets.serve.models import Models
from goalsets.serve.reading import Bounds

if TYPE_CHECKING:
    from goalsets.serve.session import ServerSession

T = TypeVar("T")


class State:
    """Shared by all endpoints; used only in the event loop's thread."""

    def __init__(self, models: Models, guard: Guard, limits: Limits) -> None:
        """Begin without requests."""
        self.models, self.guard, self.limits = models, guard, limits
        layouts = [model.layout for model in models]
        self.request_bounds = Bounds.of(layouts, limits.batch_rows)
        self.message_bounds = Bounds.of(layouts, 1)
        self.metrics = Metrics()
        self.sessions: set[ServerSession] = set()
        self.requests = 0
        """Requests in progress."""
        self.large_requests = 0
        """Those of them with the body of a batch."""
        self.draining = False
        """Whether the server is shutting down and takes no new work."""
        self.batches = Batches(limits.waiting_batches, "batches")
        # A session has one message at a time, so this never refuses one.
        self.plans = Batches(limits.sessions, "plans")
        for name, what, read in (
            ("sessions", "Sessions open.", lambda: len(self.sessions)),
            ("requests_under_way", "Requests under way.", lambda: self.requests),
            ("batches_waiting", "Batches under way.", lambda: self.batches.waiting),
            ("draining", "Whether the server is ending.", lambda: self.draining),
        ):
            self.metrics.add_gauge(f"goalsets_{name}", what, read)

    def check_room(self, large: bool) -> None:
        """Raise an error if there is no room for one more request, or for one with a large body.

        Large bodies are counted before they are read. Afterwards it would be too late: the text
        would already be in memory, and parsed.
        """
        if self.draining:
            raise busy("the server is shutting down.")
        if self.requests >= self.limits.requests:
            raise busy(f"{self.requests} requests are in progress, which is the limit.")
        if large and self.large_requests >= self.limits.waiting_batches:
            raise busy(f"{self.large_requests} batches are in progress, which is the limit.")

    def check_room_for_session(self) -> None:
        """Raise an error if there is no room for one more session."""
        if self.draining:
            raise busy("the server is shutting down.")
        if len(self.sessions) >= self.limits.sessions:
            raise busy(f"{len(self.sessions)} sessions are open, which is the limit.")

    async def look_after_sessions(self) -> None:
        """Close silent sessions; runs as long as the server does.

        It checks all sessions once a second. A timer for every message of a control loop would cost
        more than the message itself.
        """
        while True:
            await asyncio.sleep(min(1.0, self.limits.idle_seconds / 4))
            silent = time.monotonic() - self.limits.idle_seconds
            for session in [s for s in self.sessions if s.last_message < silent]:
                session.close_soon(1001, f"no message for {self.limits.idle_seconds:g} seconds")


class Batches:
    """Computes long tasks one after another, in a separate thread.

    One action takes less time than passing it to another thread, so single states are answered in
    the event loop. A batch or a plan takes many times as long, and must not delay other clients.

    Args:
        most: How many may wait.
        name: The name of the thread.
    """

    def __init__(self, most: int, name: str) -> None:
        """Start no thread yet."""
        self._most = most
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self.waiting = 0
        """How many wait or are being computed."""

    async def run(self, compute: Callable[[], T]) -> T:
        """Wait for its turn and compute it, or refuse at once if too many wait already."""
        if self.waiting >= self._most:
            raise busy(f"{self.waiting} batches are waiting, which is the limit.")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, compute)
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Let the current task finish, and start no other."""
        self._thread.shutdown(wait=False, cancel_futures=True)
