"""What a client's requests and its sessions have in common: arrays on the wire, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError
from goalsets.core.door import parse_json

Floats = NDArray[np.float32]
Goal = ArrayLike | Mapping[str, ArrayLike]
"""Whole states, or groups by name."""
Tolerances = Mapping[str, float | str]
"""By group: observation units, or text such as `20deg`."""


class ClientError(GoalsetsError):
    """The server refused, or cannot be reached; `code` says which, for programs."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        """Take what the server said."""
        super().__init__(message)
        self.code, self.status = code, status


def plain(values: ArrayLike) -> Any:  # noqa: ANN401 - nested lists
    """Numbers as JSON has them."""
    # A NaN becomes a word that is not JSON; the server then names the coordinate.
    return np.asarray(values).tolist()


def plain_goal(goal: Goal) -> Any:  # noqa: ANN401 - nested lists, or a mapping of them
    """A goal as JSON has it."""
    if isinstance(goal, Mapping):
        return {name: plain(values) for name, values in goal.items()}
    return plain(goal)


def read_answer(status: int, text: bytes | bytearray) -> dict[str, Any]:
    """What the server answered, or the error that it stands for."""
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
    """There is nobody to answer."""
    return ClientError("unreachable", f"{url} does not answer: {error or type(error).__name__}.")
