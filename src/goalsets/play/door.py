"""The door of the playground: checks what browsers send before viser gets it.

Viser answers every request, and a message that it cannot read ends in a traceback. The door refuses
pages of another origin, and host names that are not this machine's. If other machines can connect,
they need a token. A tab that sends an unreadable message is closed, with one line in the log.

Viser has no hook for this. So while viser starts, we replace the function of `websockets` by which
it listens. A test checks what we assume about both.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from goalsets.strangers import check_token, host_name, is_loopback, is_own_origin, is_token

MOST_BYTES = 2**20
"""Most bytes of a message from a tab; the page itself sends a few kilobytes at most."""

Handler = Callable[[ServerConnection], Awaitable[None]]
Process = Callable[[ServerConnection, Request], Response | None]

log = logging.getLogger(__name__)


class Door:
    """Decides which requests viser gets.

    Args:
        host: The address of the server.
        port: The port.
        token: The token that browsers must have. By default one is made if other machines can
            connect.
        head: Text for the page's head, such as a style.
    """

    def __init__(self, host: str, port: int, token: str | None = None, head: str = "") -> None:
        """Make a token if one is needed."""
        self._host, self._port, self._head = host, port, head
        if token is None and not is_loopback(host):
            token = secrets.token_urlsafe(24)
        self.token = None if token is None else check_token(token)
        self._cookie = f"goalsets-{port}"
        """With the port, because browsers share cookies between all ports of a machine."""
        self._pages: dict[bytes, bytes] = {}

    @property
    def url(self) -> str:
        """The address of the page, with its token if it needs one."""
        host = "127.0.0.1" if self._host in ("0.0.0.0", "::") else self._host
        place = f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"
        return place if self.token is None else f"{place}/?token={self.token}"

    @contextlib.contextmanager
    def in_front_of_viser(self) -> Iterator[None]:
        """A viser server that starts inside this context listens through this door."""
        theirs = websockets.asyncio.server.serve

        def serve(handler: Handler, *args: Any, process_request: Process, **rest: Any) -> Any:  # noqa: ANN401
            rest |= {"max_size": MOST_BYTES, "logger": _quiet_log()}
            checked = self.checked(process_request)
            return theirs(self.forgiving(handler), *args, process_request=checked, **rest)

        websockets.asyncio.server.serve = serve  # pyright: ignore[reportAttributeAccessIssue]
        try:
            yield
        finally:
            websockets.asyncio.server.serve = theirs

    def checked(self, process: Process) -> Process:
        """Viser's handler of requests, behind the checks of `judge`."""

        def check(connection: ServerConnection, request: Request) -> Response | None:
            refusal = self.judge(request)
            if refusal is not None:
                return refusal
            answer = process(connection, request)
            if answer is not None:
                answer.headers["Connection"] = "close"  # websockets closes without this header
                answer.headers["X-Frame-Options"] = "SAMEORIGIN"
                answer.headers["Referrer-Policy"] = "no-referrer"
                self._add_head(answer)
            return answer

        return check

    def judge(self, request: Request) -> Response | None:
        """None for a request that may pass; otherwise the answer that refuses it."""
        host = _one(request.headers, "Host") or ""
        if not is_own_origin(_one(request.headers, "Origin"), host):
            return _say(http.HTTPStatus.FORBIDDEN, "Requests from other web pages are refused.")
        if self.token is None:
            if is_loopback(host_name(host)):
                return None
            return _say(http.HTTPStatus.FORBIDDEN, "Open this playground as localhost.")
        if is_token(self._kept(request.headers), self.token.encode()):
            return None
        given = parse_qs(urlsplit(request.path).query).get("token", [""])[0]
        if is_token(given, self.token.encode()):
            # The cookie carries the token from now on, so the address bar need not show it.
            cookie = f"{self._cookie}={self.token}; HttpOnly; SameSite=Lax; Path=/"
            return _say(http.HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": cookie})
        return _say(
            http.HTTPStatus.UNAUTHORIZED,
            "This playground needs a token: open the address that 'goalsets play' has printed.",
        )

    def forgiving(self, handler: Handler) -> Handler:
        """Viser's handler of a tab; an error in it closes that tab and logs one line."""

        async def handle(connection: ServerConnection) -> None:
            asyncio.get_running_loop().set_exception_handler(_note)
            try:
                await handler(connection)
            except ConnectionClosed:
                pass  # the tab was closed
            except Exception as error:  # a message may fail in any way
                log.warning("a tab is closed: its message cannot be read (%s)", _short(error))
                await connection.close(1007, "this message cannot be read")

        return handle

    def _kept(self, headers: Headers) -> str:
        """The token in a browser's cookie."""
        try:
            found = SimpleCookie("; ".join(headers.get_all("Cookie"))).get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def _add_head(self, answer: Response) -> None:
        """Put our text into the page's head."""
        if not self._head or not answer.headers.get("Content-Type", "").startswith("text/html"):
            return
        if answer.body not in self._pages:
            zipped = answer.headers.get("Content-Encoding") == "gzip"
            page = gzip.decompress(answer.body) if zipped else bytes(answer.body)
            page = page.replace(b"</head>", self._head.encode() + b"</head>", 1)
            self._pages[bytes(answer.body)] = gzip.compress(page) if zipped else page
        answer.body = self._pages[bytes(answer.body)]
        del answer.headers["Content-Length"]
        answer.headers["Content-Length"] = str(len(answer.body))


def _one(headers: Headers, name: str) -> str | None:
    """A header's value; if it was sent several times, a value that is never valid."""
    found = headers.get_all(name)
    return None if not found else found[0] if len(found) == 1 else "several"


def _say(status: http.HTTPStatus, text: str, more: dict[str, str] | None = None) -> Response:
    body = f"{text}\n".encode()
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    return Response(status, status.phrase, Headers({**headers, **(more or {})}), body)


def _note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error in viser's loop in one line."""
    error = context.get("exception")
    log.warning("a message of a tab had no effect (%s)", _short(error) if error else context)


def _short(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _quiet_log() -> logging.Logger:
    """A silent logger for websockets: bad messages must not print tracebacks."""
    quiet = log.getChild("connections")
    quiet.setLevel(logging.CRITICAL)
    return quiet
