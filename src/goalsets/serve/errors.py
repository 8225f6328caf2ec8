"""Refusals: what a client gets instead of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goalsets.core import GoalsetsError

_FORMS = ("one", "many", "named", "ask", "observe", "body", "float", "list[float]", "str")
"""Parts of pydantic's path that name a type of ours, not a place in the message."""
_SHOWN = 3


class ServeError(GoalsetsError):
    """A refusal: a status of HTTP, a code for programs, and a message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        """Keep status, code and message."""
        super().__init__(message)
        self.status, self.code = status, code


def invalid(message: str) -> ServeError:
    """The input can be read but not answered."""
    return ServeError(422, "invalid", message)


def busy(message: str) -> ServeError:
    """The server has no room now; the same request may succeed a moment later."""
    return ServeError(503, "busy", message)


def as_serve_error(error: GoalsetsError) -> ServeError:
    """Any error that an input can cause, as a refusal."""
    return error if isinstance(error, ServeError) else invalid(str(error))


def error_body(error: ServeError) -> dict[str, Any]:
    """The error as JSON."""
    return {"error": {"code": error.code, "message": str(error)}}


def explain(errors: Sequence[Mapping[str, Any]]) -> str:
    """Pydantic's errors in words: the place and what was expected, but never the value."""
    # Unknown fields come first: a misspelt field is also the one that is missing.
    errors = sorted(errors, key=lambda error: error["type"] != "extra_forbidden")
    told = list(dict.fromkeys(_one(error) for error in errors))
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more + "."


def _one(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        reason = error.get("ctx", {}).get("error", "")
        return f"the message is not JSON: {str(reason)[:80]}" if reason else "this is not JSON"
    place = ""
    for step in error["loc"]:
        if isinstance(step, int):
            place += f"[{step}]"
        elif step not in _FORMS:
            place += f"{'.' if place else ''}{str(step)[:40]}"
    if error["type"] == "extra_forbidden":
        return f"there is no field {place!r}"
    message = str(error["msg"])
    message = message[:1].lower() + message[1:200]
    return f"{place}: {message}" if place else message
