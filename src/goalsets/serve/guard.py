"""Who may use the server: with a token, clients that have it; without one, only this machine."""

from __future__ import annotations

from collections.abc import Iterable

from goalsets.core import GoalsetsError
from goalsets.serve.errors import ServeError
from goalsets.strangers import check_token, host_name, is_loopback, is_own_origin, is_token

OPEN_PATHS = ("/healthz",)
"""Paths that need no token: load balancers ask them, and they reveal nothing."""

Headers = Iterable[tuple[bytes, bytes]]


class Guard:
    """Decides by a request's headers."""

    def __init__(self, host: str, token: str | None) -> None:
        """Refuse to listen to other machines without a token."""
        if token is None and not is_loopback(host):
            raise GoalsetsError(
                f"with --host {host} other machines can connect, so it needs a token: put one into "
                "a file and give --token-file, or set GOALSETS_TOKEN."
            )
        self._token = None if token is None else check_token(token).encode()

    def check(self, path: str, headers: Headers) -> None:
        """Raise an error unless this client may ask for this path."""
        found: dict[bytes, bytes] = {}
        for name, value in headers:
            found.setdefault(name.lower(), value)
        host = found.get(b"host", b"").decode("latin-1")
        origin = found.get(b"origin")
        if not is_own_origin(None if origin is None else origin.decode("latin-1"), host):
            raise ServeError(403, "forbidden", "requests from other web pages are refused.")
        if self._token is None:
            if not is_loopback(host_name(host)):
                raise ServeError(
                    403,
                    "forbidden",
                    f"address this server as localhost, not as {host_name(host)[:64]!r}.",
                )
        elif path not in OPEN_PATHS:
            self._check_token(found.get(b"authorization", b""))

    def _check_token(self, given: bytes) -> None:
        assert self._token is not None
        kind, _, token = given.partition(b" ")
        right = is_token(token.strip(), self._token)
        if kind.lower() != b"bearer" or not right:
            raise ServeError(
                401, "unauthorized", "this server needs a token: send 'Authorization: Bearer …'."
            )
