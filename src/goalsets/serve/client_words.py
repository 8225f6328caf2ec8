"""What requests and sessions of the client share: arrays as JSON, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError
from goalsets.core.door import parse_json

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


def read_answer(status: int, text: bytes | bytearray) -> dict[str, Any]:
    """The server's answer; a refusal is raised as an error."""
    try:
        answer = parse_json(bytes(text), "the answer")
    except GoalsetsError:
        answer = {}
    if status == 200 and answer:
        return answer
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    message = error.get("message", f"the server answered {status} without a reason.")
    raise ClientError(error.get("code", "refused"), message, status)


def unreachable(url: str, error: Exception) -> ClientError:
    """The error for a server that does not answer."""
    return ClientError("unreachable", f"{url} does not answer: {error or type(error).__name__}.")
