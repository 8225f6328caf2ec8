"""What a running server knows: its models, its bounds, and what is under way."""

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
    """Shared by all endpoints; touched only from the event loop's thread."""

    def __init__(self, models: Models, guard: Guard, limits: Limits) -> None:
        """Nothing is under way yet."""
        self.models, self.guard, self.limits = models, guard, limits
        layouts = [model.layout for model in models]
        self.request_bounds = Bounds.of(layouts, limits.batch_rows)
        self.message_bounds = Bounds.of(layouts, 1)
        self.metrics = Metrics()
        self.sessions: set[ServerSession] = set()
        self.requests = 0
        """Requests under way."""
        self.large_requests = 0
        """Of those, the ones whose body is that of a batch."""
        self.draining = False
        """Whether the server is coming to its end and takes no new work."""
        self.batches = Batches(limits.waiting_batches, "batches")
        # A session has one message answered at a time: none of them is ever refused here.
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

        Large ones are counted before they are read: by the time that a batch is found to be one too
        many, its text has been held in memory and taken apart.
        """
        if self.draining:
            raise busy("the server is shutting down.")
        if self.requests >= self.limits.requests:
            raise busy(f"{self.requests} requests are under way, as many as may be.")
        if large and self.large_requests >= self.limits.waiting_batches:
            raise busy(f"{self.large_requests} batches are under way, as many as may be.")

    def check_room_for_session(self) -> None:
        """Raise an error if there is no room for one more session."""
        if self.draining:
            raise busy("the server is shutting down.")
        if len(self.sessions) >= self.limits.sessions:
            raise busy(f"{len(self.sessions)} sessions are open, as many as may be.")

    async def look_after_sessions(self) -> None:
        """Close sessions that have gone silent; runs as long as the server does.

        One look a second at all of them: a timer around every message of a control loop would
        cost more than the message.
        """
        while True:
            await asyncio.sleep(min(1.0, self.limits.idle_seconds / 4))
            silent = time.monotonic() - self.limits.idle_seconds
            for session in [s for s in self.sessions if s.last_message < silent]:
                session.close_soon(1001, f"no message for {self.limits.idle_seconds:g} seconds")


class Batches:
    """What takes long is computed one after another in a thread of its own.

    One action takes less time than handing it to another thread would, so single states are
    answered where they arrive. A batch takes many times as long, and so does a plan; they must not
    hold up the loops of others meanwhile.

    Args:
        most: How many may wait.
        name: Of the thread.
    """

    def __init__(self, most: int, name: str) -> None:
        """Start no thread before it is needed."""
        self._most = most
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self.waiting = 0
        """Those that wait, and the one that is computed."""

    async def run(self, compute: Callable[[], T]) -> T:
        """Wait for the turn and compute, or refuse at once where too many wait already."""
        if self.waiting >= self._most:
            raise busy(f"{self.waiting} batches wait already, as many as may.")
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, compute)
        finally:
            self.waiting -= 1

    def close(self) -> None:
        """Let the one that runs finish, and start no other."""
        self._thread.shutdown(wait=False, cancel_futures=True)
