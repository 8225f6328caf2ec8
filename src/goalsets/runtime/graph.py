"""The graph of an exported policy: its operations, and the tensors between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

Shape = tuple[int, ...]


class WorkError(ValueError):
    """An operation does too much work, or its work cannot be determined."""


@dataclass(frozen=True)
class Value:
    """A tensor: its shape, and its numbers if they may become a shape."""

    shape: Shape
    numbers: NDArray[Any] | None = None

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Operation:
    """An operation of a graph."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


Inputs = Sequence["Value | None"]


def given(value: Value | None) -> Value:
    """An input that must not be missing."""
    if value is None:
        raise WorkError("an input is missing")
    return value
