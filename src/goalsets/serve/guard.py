"""Who may speak to the server.

With a token, whoever knows it. Without one the server listens on this machine only, and even there
a web page that somebody has open must not reach it: a page can open WebSockets to localhost, and
a name that a page controls can point there. So the name that a client calls the server by must be
one of this machine's, and a page of another origin is refused.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from goalsets.core import GoalsetsError
from goalsets.serve.errors import ServeError

MIN_TOKEN = 16
"""Characters of the shortest token that is accepted."""

OPEN_PATHS = ("/healthz",)
"""What needs no token: a balancer asks it, and it tells nothing."""

Headers = Iterable[tuple[bytes, bytes]]


class Guard:
    """Decides by a request's headers."""

    def __init__(self, host: str, token: str | None) -> None:
        """Refuse to listen to the world without a token."""
        if token is None and not is_loopback(host):
            raise GoalsetsError(
                f"listening on {host} lets other machines in, so it needs a token: put one into "
                "a file and give --token-file, or set GOALSETS_TOKEN."
            )
        self._token = None if token is None else check_token(token).encode()

    def check(self, path: str, headers: Headers) -> None:
        """Raise an error unless this client may ask for this path."""
        found: dict[bytes, bytes] = {}
        for name, value in headers:
            found.setdefault(name.lower(), value)
        host = found.get(b"host", b"").decode("latin-1")
        self._check_origin(found.get(b"origin"), host)
        if self._token is None:
            if not is_loopback(_name(host)):
                raise ServeError(
                    403, "forbidden", f"this server is called localhost, not {_name(host)[:64]!r}."
                )
        elif path not in OPEN_PATHS:
            self._check_token(found.get(b"authorization", b""))

    def _check_token(self, given: bytes) -> None:
        assert self._token is not None
        kind, _, token = given.partition(b" ")
        # In constant time: how long a comparison takes must not tell how much of it was right.
        right = hmac.compare_digest(token.strip(), self._token)
        if kind.lower() != b"bearer" or not right:
            raise ServeError(
                401, "unauthorized", "this server needs a token: send 'Authorization: Bearer …'."
            )

    def _check_origin(self, origin: bytes | None, host: str) -> None:
        """Programs send no origin; a browser sends that of the page which asks."""
        if origin is None:
            return
        try:
            asking = urlsplit(origin.decode("latin-1")).netloc
        except ValueError:
            asking = ""
        if not asking or asking.lower() != host.lower():
            raise ServeError(403, "forbidden", "pages of another origin may not ask this server.")


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_token(token: str) -> str:
    """Return the token if it can be one."""
    token = token.strip()
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise GoalsetsError(
            f"a token needs {MIN_TOKEN} or more characters without spaces, as "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
        )
    return token


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.rpartition(":")[0] if ":" in host else host
