"""The process: bind an address, serve until a signal, and shut down in order."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from collections.abc import Callable
from types import FrameType

import torch
import uvicorn

from goalsets.core import GoalsetsError
from goalsets.serve.app import make_app
from goalsets.serve.connections import BoundedConfig
from goalsets.serve.guard import Guard
from goalsets.serve.limits import Limits
from goalsets.serve.models import Models
from goalsets.serve.state import State

_NOTICE = 0.5
"""Seconds after SIGTERM in which new clients still get a refusal, before the port is closed."""


def serve(
    models: Models,
    listening: socket.socket,
    guard: Guard,
    limits: Limits,
    ready: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        models: The models to serve.
        listening: The socket that `bind` returned.
        guard: Decides who may use the server.
        limits: Upper bounds.
        ready: Called with the server's URL once requests are answered.
    """
    # One thread: a single action is too small to share, and the event loop needs the other cores.
    torch.set_num_threads(1)
    state = State(models, guard, limits)
    server = DrainingServer(BoundedConfig(make_app(state), limits), state)
    server.when_ready = lambda: ready(_url(listening))
    # Everything loaded so far stays, so exclude it from garbage collection while robots wait. The
    # second collection lets the collector see that little is left to track. Without it, garbage of
    # a quarter of the loaded size could pile up.
    gc.collect()
    gc.freeze()
    gc.collect()
    server.run([listening])


def bind(host: str, port: int) -> socket.socket:
    """Listen, or raise an error that says why that is not possible."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        # The port as it was given: getaddrinfo turns 70000 into 4464.
        listening = socket.create_server((address[0], port), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise GoalsetsError(
            f"cannot listen on {host}:{port}: {error}. Choose another --port; 0 takes any that "
            "is free."
        ) from None
    # uvicorn sends an answer in two pieces. Without this, the second piece waits up to 40 ms until
    # the client has acknowledged the first. Connections inherit the option.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _url(listening: socket.socket) -> str:
    host, port, *_ = listening.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class DrainingServer(uvicorn.Server):
    """uvicorn's server, which lets sessions finish before it stops.

    After the first signal it takes no new work, tells the sessions how long they have, and stops
    when they are gone or the time is up. After a second signal it stops at once.
    """

    def __init__(self, config: BoundedConfig, state: State) -> None:
        """Keep the state."""
        super().__init__(config)
        self._state = state
        self._told = False
        self._deadline = self._said = 0.0
        self.when_ready: Callable[[], None] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Call `ready` after the start."""
        await super().startup(sockets)
        self.when_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Only note the signal: `on_tick` checks ten times a second."""
        if self._told:
            self.should_exit = self.force_exit = True
        self._told = True

    async def on_tick(self, counter: int) -> bool:
        """Begin to drain after a signal."""
        if self._told and not self.should_exit:
            await self._drain()
        return await super().on_tick(counter)

    async def _drain(self) -> None:
        state, seconds = self._state, self._state.limits.drain_seconds
        now = time.monotonic()
        if not state.draining:
            state.draining = True
            self._deadline, self._said = now + seconds, now
            for session in state.sessions:
                # Not awaited: a client that does not read must not delay the others.
                self._announcements = asyncio.ensure_future(session.announce_end(seconds))
        if now >= self._deadline:
            for session in state.sessions:
                session.close_soon(1001, "the server is shutting down")
            await asyncio.sleep(0.1)
            self.should_exit = True
        elif not (state.sessions or state.requests) and now - self._said >= _NOTICE:
            self.should_exit = True
