"""The server: one session for each tab, up to a limit; a tab that closes makes room.

A venue decides what a tab shows: policies that act in simulators (`Simulators`), or recorded
episodes (`goalsets.play.logs.venue`).
"""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import viser

from goalsets.core import GoalsetsError
from goalsets.play.door import Door
from goalsets.play.dress import dressing
from goalsets.play.film import Filmer
from goalsets.play.page import make_hand
from goalsets.play.session import TabSession
from goalsets.play.setup import Setup
from goalsets.play.simulator_session import SimulatorSession
from goalsets.play.words import problem

DEFAULT_SESSIONS = 4
_MAX_WAITING = 50
"""Tabs that may wait for a session; further tabs are only told that it is full."""
_BRAND = (15, 118, 110)

log = logging.getLogger(__name__)


class _Server(viser.ViserServer):
    """A viser server that never shares the page over the internet."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse: viser would send the page through a server of its makers."""
        return None


class Venue(Protocol):
    """What a playground has to show."""

    def build(self, server: viser.ViserServer) -> None:
        """Add to the server's scene what all tabs see."""
        ...

    def open(self, client: viser.ClientHandle, counting: ThreadPoolExecutor) -> TabSession:
        """Begin a session in a tab; `counting` counts states in the data, for all sessions."""
        ...

    def close(self) -> None:
        """Free what all sessions share."""
        ...


class Simulators:
    """Policies that act in simulators.

    Args:
        setup: The task, its checkpoints and its data.
    """

    def __init__(self, setup: Setup) -> None:
        """Get ready to build scenes and to make films."""
        self._setup = setup
        self._hand = make_hand(setup)
        self._filmer = Filmer(setup.task, [checkpoint.name for checkpoint in setup.checkpoints])

    def build(self, server: viser.ViserServer) -> None:
        """Add to the scene what does not move."""
        self._hand.build(server)

    def open(self, client: viser.ClientHandle, counting: ThreadPoolExecutor) -> SimulatorSession:
        """Begin a session, with worlds of its own."""
        return SimulatorSession(client, counting, self._setup, self._hand, self._filmer)

    def close(self) -> None:
        """Make no more films."""
        self._filmer.close()


class Playground:
    """Serves a venue to browsers.

    Args:
        venue: What is shown.
        host: The address to listen on.
        port: The port; 0 takes any that is free.
        sessions: Tabs that may play at a time.
        token: The token that browsers must have. By default one is made if other machines can reach
            the page; otherwise none is needed.
    """

    def __init__(
        self,
        venue: Venue,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        sessions: int = DEFAULT_SESSIONS,
        token: str | None = None,
    ) -> None:
        """Listen, and serve tabs from now on."""
        if sessions < 1:
            raise GoalsetsError(f"sessions must be 1 or more, got {sessions}.")
        self._venue = venue
        self._limit = sessions
        self._counting = ThreadPoolExecutor(1, thread_name_prefix="count")
        self._lock = threading.Lock()
        self.sessions: dict[int, TabSession] = {}
        self._waiting: dict[int, tuple[viser.ClientHandle, viser.GuiHtmlHandle]] = {}
        # A tab may close while it is drawn; that is not worth a warning.
        warnings.filterwarnings("ignore", message="Queued a .* on a closed connection")
        port = _checked_port(host, port)
        self._door = Door(host, port, token)
        # Hide viser's greeting; the command prints the address.
        with contextlib.redirect_stdout(io.StringIO()), self._door.in_front_of_viser():
            self._server = _Server(host, port, verbose=False)
        self._server.gui.configure_theme(
            show_logo=False,
            show_share_button=False,
            brand_color=_BRAND,
        )
        self._server.gui.add_html(dressing())
        venue.build(self._server)
        self._server.on_client_connect(self._come)
        self._server.on_client_disconnect(self._go)

    @property
    def url(self) -> str:
        """The address of the page, with its token if it needs one."""
        return self._door.url

    def close(self) -> None:
        """End all sessions, and stop listening."""
        with self._lock:
            ending = list(self.sessions.values())
            self.sessions.clear()
            self._waiting.clear()
        for session in ending:
            session.close()
        self._venue.close()
        self._counting.shutdown(wait=False, cancel_futures=True)
        self._server.stop()
        for session in ending:
            session.join(5.0)

    # Both callbacks are coroutines that never wait, and the server's loop runs them one after the
    # other. So connections open and close here in the right order.

    async def _come(self, client: viser.ClientHandle) -> None:
        with self._lock:
            if len(self.sessions) < self._limit:
                self._open(client)
            elif len(self._waiting) < _MAX_WAITING:
                told = client.gui.add_html(problem(self._full()))
                self._waiting[client.client_id] = client, told
            else:
                client.gui.add_html(problem(self._full()))

    async def _go(self, client: viser.ClientHandle) -> None:
        with self._lock:
            self._waiting.pop(client.client_id, None)
            session = self.sessions.pop(client.client_id, None)
            if session is None:
                return
            session.close()
            log.info("tab %d has gone; %d play", client.client_id, len(self.sessions))
            if self._waiting:
                first_come = next(iter(self._waiting))
                next_client, told = self._waiting.pop(first_come)
                told.remove()
                self._open(next_client)

    def _open(self, client: viser.ClientHandle) -> None:
        self.sessions[client.client_id] = self._venue.open(client, self._counting)
        log.info("tab %d has come; %d play", client.client_id, len(self.sessions))

    def _full(self) -> str:
        return (
            f"This playground is full: {self._limit} tabs play already. Close one of them, and "
            "this one begins."
        )


def _checked_port(host: str, port: int) -> int:
    """Return the port if it is free. Viser would silently take another one."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise GoalsetsError(
                f"cannot listen on {host}:{port}: {why}. Choose another --port; 0 takes any that "
                "is free."
            ) from None
        return int(probe.getsockname()[1])
