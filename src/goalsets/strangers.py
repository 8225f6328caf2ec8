"""Strangers: what tells a server of ours who is calling it, and whether they may.

Even a server that only this machine can reach has strangers: a web page that somebody has open can
open WebSockets to localhost, and a name that a page controls can point there. So the name that a
client calls the server by must be one of this machine's, and a page of another origin is refused.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from goalsets.core import GoalsetsError

TOKEN_VARIABLE = "GOALSETS_TOKEN"
MIN_TOKEN = 16
"""Characters of the shortest token that is accepted."""


def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.rpartition(":")[0] if ":" in host else host


def is_own_origin(origin: str | None, host: str) -> bool:
    """Whether a request comes from a page of the server's own, or from no page.

    Programs send no origin; a browser sends that of the page which asks.
    """
    if origin is None:
        return True
    try:
        asking = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(asking) and asking.lower() == host.lower()


def is_token(given: str | bytes, token: bytes) -> bool:
    """Compare in constant time: how long it takes must not tell how much of it was right."""
    return hmac.compare_digest(given.encode() if isinstance(given, str) else given, token)


def check_token(token: str) -> str:
    """Return the token if it can be one."""
    token = token.strip()
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise GoalsetsError(
            f"a token needs {MIN_TOKEN} or more characters without spaces, as "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
        )
    return token
