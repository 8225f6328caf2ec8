"""The door: bounds every request in size, time and number before anything else sees it."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from goalsets.serve.errors import ServeError, busy, error_body
from goalsets.serve.guard import OPEN_PATHS
from goalsets.serve.limits import Limits
from goalsets.serve.state import State

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

ALWAYS_OPEN = (*OPEN_PATHS, "/metrics")
"""Paths that are answered even when there is no room, because monitoring needs them."""
_COUNTED = frozenset(
    (*ALWAYS_OPEN, "/v1/act", "/v1/check", "/v1/model", "/v1/models", "/v1/plan", "/v1/session")
)
_PATIENCE = 4
"""A body that is too large is still read, up to this many times its bound, before the answer.
Otherwise a client that is still sending would see a broken connection instead of the answer."""


class ClientGoneError(Exception):
    """The client left before its request was complete, so there is nobody to answer."""


class Door:
    """Wraps an ASGI application."""

    def __init__(self, inside: Application, state: State) -> None:
        """Keep the application and the state."""
        self._inside, self._state = inside, state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with a reason."""
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._session(scope, receive, send)
        else:
            await self._inside(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        state, path, status = self._state, scope["path"], 500
        large = is_large(scope, state.limits)

        async def watch(event: Event) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
                if state.draining:  # an idle connection would be cut at the end of the server
                    event["headers"] = [*event["headers"], (b"connection", b"close")]
            await send(event)

        try:
            state.guard.check(path, scope["headers"])
            if path not in ALWAYS_OPEN:
                state.check_room(large)
            state.requests += 1
            state.large_requests += large
            try:
                body = await read_body(scope, receive, state.limits)
                state.request_bounds.check(body)
                async with _deadline(state.limits.answer_seconds):
                    await self._inside(scope, _replay(body, receive), watch)
            finally:
                state.requests -= 1
                state.large_requests -= large
        except ServeError as error:
            if status == 500:  # nothing has been sent yet
                await _refuse(error, watch)
        except ClientGoneError:
            status = 499  # the usual code in logs for a client that left
        finally:
            state.metrics.count_request(path if path in _COUNTED else "other", status)

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = self._state
        try:
            state.guard.check(scope["path"], scope["headers"])
            if scope["path"] != "/v1/session":
                raise ServeError(404, "not_found", "sessions are at /v1/session.")
            state.check_room_for_session()
        except ServeError as error:
            state.metrics.count_request("/v1/session", error.status)
            await _refuse(error, send, "websocket.http.response")
            return
        state.metrics.count_request("/v1/session", 101)
        await self._inside(scope, receive, send)


@contextlib.asynccontextmanager
async def _deadline(seconds: float) -> AsyncIterator[None]:
    """Give up after some seconds. `asyncio.wait_for` would start a task for every request."""
    task, late = asyncio.current_task(), False
    assert task is not None

    def give_up() -> None:
        nonlocal late
        late = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, give_up)
    try:
        yield
    except asyncio.CancelledError:
        if not late:
            raise
        raise busy(f"there was no answer within {seconds:g} seconds.") from None
    finally:
        timer.cancel()


def is_large(scope: Scope, limits: Limits) -> bool:
    """Whether a body may be longer than one state: by its length, or because it gives none."""
    headers = dict(scope["headers"])
    declared = headers.get(b"content-length", b"0")
    if b"transfer-encoding" in headers or not declared.isdigit():
        return True
    return int(declared) > limits.message_bytes


async def read_body(scope: Scope, receive: Receive, limits: Limits) -> bytes:
    """Read the whole body of a request, or raise an error that names the bound it exceeds."""
    headers = dict(scope["headers"])
    if b"content-length" not in headers and b"transfer-encoding" not in headers:
        return b""
    too_long = ServeError(413, "too_large", f"a body may have {limits.body_bytes:,} bytes at most.")
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > _PATIENCE * limits.body_bytes:
        raise too_long
    try:
        body = await asyncio.wait_for(_collect(receive, limits.body_bytes), limits.body_seconds)
    except asyncio.TimeoutError:
        raise ServeError(
            408, "too_slow", f"the body did not arrive within {limits.body_seconds:g} seconds."
        ) from None
    if body is None:
        raise too_long
    return body


async def _collect(receive: Receive, most: int) -> bytes | None:
    """The body, or None if it is too long."""
    body, size, more = bytearray(), 0, True
    while more and size <= _PATIENCE * most:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGoneError
        chunk = event.get("body", b"")
        size += len(chunk)
        if size <= most:
            body += chunk
        more = event.get("more_body", False)
    return bytes(body) if size <= most else None


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body, and then what follows it."""
    given = False

    async def again() -> Event:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(error: ServeError, send: Send, kind: str = "http.response") -> None:
    body = encode(error_body(error))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        # The rest of the request is not read.
        (b"connection", b"close"),
    ]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": f"{kind}.start", "status": error.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})


def encode(answer: object) -> bytes:
    """JSON in ASCII, so that any text of a client can be sent back."""
    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode("ascii")
