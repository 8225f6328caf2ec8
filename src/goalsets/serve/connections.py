"""Drop clients that hold connections open for nothing.

uvicorn leaves some protection to a proxy, but a robot's network seldom has one. So it is added
here: against clients that never finish their request, that do not read what they are sent, or that
open connections without end.

Two classes inherit from uvicorn's connections, which can be replaced but are not documented. Only
they know when a request has arrived, and when the client should have answered. The design note
"Less by hand" says more, and a test checks what we assume about them.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from goalsets.serve.limits import Limits

_LAST_WORDS = 1.0
"""Seconds for a dropped client to read the reason, before the connection is cut."""
_READ = 2**14
"""Bytes to read at a time. asyncio allocates 256 KiB before each read and then frees the unused
part; with many connections this fragments the heap, and it grows."""
_READ_FRAMES = 2**12
"""Bytes to read at a time in a session. All frames of a read are parsed at once, and the shortest
has six bytes, so this bounds how long others wait."""
_MOST_FRAMES = 1_000
"""Most frames between two messages of a session: fragments, pings and pongs."""
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_NO_SESSION = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_BODY = frozenset((b"content-length", b"transfer-encoding"))


# A client whose text is not UTF-8 is disconnected; that needs no traceback.
logging.getLogger("uvicorn.error").addFilter(
    lambda record: not str(record.msg).startswith("Invalid UTF-8")
)


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration, with our limits."""

    def __init__(self, app: Any, limits: Limits) -> None:  # noqa: ANN401 - an ASGI application
        """Pass on the limits that uvicorn enforces itself."""
        super().__init__(
            app,
            http=HttpConnection,
            ws=SocketConnection,
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            # A client must not choose its own address by a header.
            proxy_headers=False,
            server_header=False,
            limit_concurrency=limits.connections,
            timeout_keep_alive=int(max(1, limits.header_seconds)),
            timeout_graceful_shutdown=int(max(1, limits.body_seconds)),
            ws_max_size=limits.message_bytes,
            ws_ping_interval=limits.ping_seconds,
            ws_ping_timeout=limits.ping_seconds,
            # Observations are short. Compression would cost time, and allow decompression bombs.
            ws_per_message_deflate=False,
        )
        self.limits = limits


class _Deadline:
    """Calls a function unless it is lifted in time."""

    def __init__(self, seconds: float, act: Any) -> None:  # noqa: ANN401 - a callable
        self._seconds, self._act = seconds, act
        self._timer: asyncio.TimerHandle | None = None

    def set(self) -> None:
        """Start the clock, if it is not running."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._act)

    def lift(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpConnection(H11Protocol):
    """HTTP with a deadline for sending a request, and one for reading the answer."""

    config: BoundedConfig

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        transport.max_size = _READ  # pyright: ignore[reportAttributeAccessIssue] - not documented
        limits = self.config.limits
        self._header = _Deadline(limits.header_seconds, self._drop_silent)
        self._reader = _Deadline(limits.send_seconds, transport.abort)
        if len(self.connections) > 2 * limits.connections:
            # A few connections too many are answered 503; this is a flood.
            transport.abort()
            return
        self._header.set()

    def data_received(self, data: bytes) -> None:
        """Start the deadline when a request begins to arrive."""
        super().data_received(data)
        # If the connection is idle and uvicorn's timer between requests is off, a request has begun
        # to arrive. Further bytes do not restart the clock.
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._header.set()
        else:
            self._header.lift()

    def _should_upgrade(self) -> bool:
        """Upgrade only requests that can become a session.

        Others are answered as if they had not asked for an upgrade (RFC 9110, section 7.8).
        """
        names = {name for name, _ in self.headers}
        plain = self.scope["method"] == "GET" and not names & _BODY
        return plain and super()._should_upgrade()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over."""
        self._header.lift()
        self._reader.lift()
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._reader.set()

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._reader.lift()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._header.lift()
        self._reader.lift()
        super().connection_lost(exc)

    def _drop_silent(self) -> None:
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
            self.transport.close()
            self.loop.call_later(_LAST_WORDS, self.transport.abort)


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket that drops clients that do not read or do not answer pings."""

    config: BoundedConfig

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Prepare the clock."""
        super().connection_made(transport)
        self.transport.max_size = _READ_FRAMES  # pyright: ignore[reportAttributeAccessIssue]
        self._reader = _Deadline(self.config.limits.send_seconds, self.transport.abort)
        self._frames_since = 0

    def data_received(self, data: bytes) -> None:
        """Answer a request that cannot be read; the library would only note it, and wait."""
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.handshake_initiated = self.handshake_complete = self.close_sent = True
            self.transport.write(_NO_SESSION)
            self.transport.close()
            self.loop.call_later(_LAST_WORDS, self.transport.abort)

    def handle_cont(self, event: Frame) -> None:
        """Count."""
        if self._may_send_more():
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Count."""
        if self._may_send_more():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        """Count."""
        if self._may_send_more():
            super().handle_pong(event)

    def send_receive_event_to_app(self) -> None:
        """A message is complete."""
        self._frames_since = 0
        super().send_receive_event_to_app()

    def _may_send_more(self) -> bool:
        """Count a frame since the last message; too many end the session."""
        self._frames_since += 1
        if self._frames_since == _MOST_FRAMES:
            self.conn.fail(1008, f"{_MOST_FRAMES:,} frames without a message")
            self.handle_parser_exception()
        return self._frames_since < _MOST_FRAMES

    def pause_writing(self) -> None:
        """The client does not read: stop reading, so that we need not write pongs."""
        super().pause_writing()
        self._reader.set()
        if not self.read_paused:
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._reader.lift()
        if not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def keepalive_timeout(self) -> None:
        """The client is gone: abort, because closing would wait for it to read."""
        super().keepalive_timeout()
        self.loop.call_later(_LAST_WORDS, self.transport.abort)

    def handle_parser_exception(self) -> None:
        """The bytes are not a WebSocket frame: say so, and do not wait for the rest."""
        super().handle_parser_exception()
        self.loop.call_later(_LAST_WORDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._reader.lift()
        super().connection_lost(exc)
