"""What requests and sessions of the client share: arrays as JSON, and errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError
from goalsets.core.door import fit, parse_json

LARGEST = 64 << 20
"""Bytes of the longest answer that is read."""

Floats = NDArray[np.float32]
Goal = ArrayLike | Mapping[str, ArrayLike]
"""Full states, or groups by name."""
Tolerances = Mapping[str, float | str]
"""By group: observation units, or text such as `20deg`."""


class ClientError(GoalsetsError):
    """The server refused, or cannot be reached; `code` says which, for programs."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        """Keep the server's answer."""
        super().__init__(message)
        self.code, self.status = code, status


def plain(values: ArrayLike) -> Any:  # noqa: ANN401 - nested lists
    """Numbers for JSON."""
    # NaN is not valid JSON; the server then answers with the name of the coordinate.
    return np.asarray(values).tolist()


def plain_goal(goal: Goal) -> Any:  # noqa: ANN401 - nested lists, or a mapping of them
    """A goal for JSON."""
    if isinstance(goal, Mapping):
        return {name: plain(values) for name, values in goal.items()}
    return plain(goal)


@dataclass(frozen=True)
class _Error:
    code: str = "refused"
    message: str = ""


@dataclass(frozen=True)
class _Refusal:
    error: _Error = _Error()


def read_answer(status: int, text: bytes | bytearray) -> dict[str, Any]:
    """The server's answer; a refusal is raised as an error."""
    try:
        answer: Any = parse_json(bytes(text), "the answer")
        if status == 200 and isinstance(answer, dict) and answer:
            return answer
        found: _Error = fit(answer, _Refusal, "the answer").error
    except GoalsetsError:
        found = _Error()
    message = found.message or f"the server answered {status} without a reason."
    raise ClientError(found.code, message, status)


def read_message(text: str | bytes) -> dict[str, Any]:
    """A message of a session; an error among them is raised."""
    with expected("message"):
        answer: Any = parse_json(text, "the answer")
        kind = answer["type"]
        error = fit(answer, _Refusal, "the answer").error
    if kind == "error":
        raise ClientError(error.code, error.message)
    return answer


@contextlib.contextmanager
def expected(what: str) -> Iterator[None]:
    """Take an answer apart. One of another form, as other programs give, is an error of ours."""
    try:
        yield
    except ClientError:
        raise
    except (GoalsetsError, LookupError, TypeError, ValueError, OverflowError,
            AttributeError) as error:  # fmt: skip
        told = " ".join(str(error).split())[:200]
        raise ClientError(
            "unexpected",
            f"the server's answer is not the {what} that was expected ({told}). Is it a server of "
            "goalsets, of this version?",
        ) from None


def unreachable(url: str, error: Exception) -> ClientError:
    """The error for a server that does not answer."""
    return ClientError("unreachable", f"{url} does not answer: {error or type(error).__name__}.")
