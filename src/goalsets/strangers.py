"""Strangers: checks which requests our servers accept.

Even a server that only this machine can reach needs these checks. A web page in the user's browser
can open WebSockets to localhost, and a host name that an attacker controls can point there. So the
host name of a request must be one of this machine's, and pages of other origins are refused.
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import urlsplit

from goalsets.core import GoalsetsError

TOKEN_VARIABLE = "GOALSETS_TOKEN"
MIN_TOKEN = 16
"""The length of the shortest token that is accepted."""


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
    """Whether a request comes from the server's own page, or from no page.

    A browser sends the origin of the page; other programs send none.
    """
    if origin is None:
        return True
    try:
        asking = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(asking) and asking.lower() == host.lower()


def is_token(given: str | bytes, token: bytes) -> bool:
    """Compare in constant time, so that the time does not show how much of a token is right."""
    return hmac.compare_digest(given.encode() if isinstance(given, str) else given, token)


def check_token(token: str) -> str:
    """Return the token if it is long enough and has no spaces; otherwise raise an error."""
    token = token.strip()
    if len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise GoalsetsError(
            f"a token needs {MIN_TOKEN} or more characters without spaces. Make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token
