"""What a client is told when it does not get an answer."""

from __future__ import annotations

from typing import Any

from goalsets.core import GoalsetsError


class ServeError(GoalsetsError):
    """A refusal: a status of HTTP, a code for programs, and a message for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        """Take what the client is told."""
        super().__init__(message)
        self.status, self.code = status, code


def invalid(message: str) -> ServeError:
    """The input can be read and cannot be answered."""
    return ServeError(422, "invalid", message)


def busy(message: str) -> ServeError:
    """The server has no room now; the same request may succeed a moment later."""
    return ServeError(503, "busy", message)


def as_serve_error(error: GoalsetsError) -> ServeError:
    """Any error that an input can cause, as a refusal."""
    return error if isinstance(error, ServeError) else invalid(str(error))


def error_body(error: ServeError) -> dict[str, Any]:
    """The error as it travels."""
    return {"error": {"code": error.code, "message": str(error)}}
