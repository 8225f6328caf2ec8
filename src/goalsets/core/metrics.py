"""Distances between a group of coordinates and its reference, for numpy and torch.

Every metric maps the values of one group, `[..., n]` in states and reference, to a distance
`[...]`. The caller removes inactive coordinates, or sets them to zero on both sides. Each metric
then gives a lower bound of its distance over the whole group. So a query of fewer coordinates can
only enlarge a goal set.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar, get_args

import numpy as np

Metric = Literal["euclidean", "absolute", "angle", "quaternion", "exact"]
METRICS: tuple[Metric, ...] = get_args(Metric)

# Numpy arrays and torch tensors share the operations used here. No static type covers both, and
# the core must not import torch to define one.
Array = Any


class TensorLike(Protocol):
    """Methods that a torch tensor has and a numpy array does not have.

    The public API uses them to tell the two apart, so that a type checker knows the result's type.
    """

    def detach(self) -> Any:  # noqa: ANN401 - a tensor
        """Return the same values, without their history."""
        ...

    def cpu(self) -> Any:  # noqa: ANN401 - a tensor
        """Return the same values in CPU memory."""
        ...


Tensor = TypeVar("Tensor", bound=TensorLike)
"""A torch tensor, by its own type."""


def namespace(array: Array) -> Any:  # noqa: ANN401 - a module, numpy or torch
    """Return the library of an array. Torch is not imported if nothing else has imported it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return torch
    return np


def _euclidean(states: Array, reference: Array) -> Array:
    delta = states - reference
    return namespace(delta).sqrt((delta * delta).sum(-1))


def _absolute(states: Array, reference: Array) -> Array:
    delta = states - reference
    xp = namespace(delta)
    return xp.amax(xp.abs(delta), -1)


def _quaternion(states: Array, reference: Array) -> Array:
    """Rotation angle in radians. A unit quaternion and its negative are the same rotation.

    The chord between two unit quaternions that differ by a rotation θ is 2 sin(θ/4). Near zero, its
    arcsine is precise; the usual arccosine of the inner product loses half its digits there.
    """
    xp = namespace(states)
    chord = xp.minimum(_euclidean(states, reference), _euclidean(states, -reference))
    return 4.0 * xp.arcsin(xp.clip(chord / 2.0, None, 1.0))


def _exact(states: Array, reference: Array) -> Array:
    different = (states != reference).any(-1)
    return namespace(different).where(different, 1.0, 0.0)


_DISTANCES: Mapping[Metric, Callable[[Array, Array], Array]] = {
    "euclidean": _euclidean,
    "absolute": _absolute,
    # (cos, sin) pairs: the chord 2 sin(θ/2), as in the paper's appendix F.
    "angle": _euclidean,
    "quaternion": _quaternion,
    "exact": _exact,
}


def distance(metric: Metric, states: Array, reference: Array) -> Array:
    """Distance `[...]` between states `[..., n]` and reference `[..., n]` under a metric."""
    return _DISTANCES[metric](states, reference)


# Units that people type after a number, each with its base unit and its size in that unit.
UNITS: Mapping[str, tuple[str, float]] = {
    "m": ("m", 1.0),
    "cm": ("m", 1e-2),
    "mm": ("m", 1e-3),
    "rad": ("rad", 1.0),
    "deg": ("rad", math.pi / 180.0),
}


def chord(radians: float) -> float:
    """Chord between two points of the unit circle that are an angle apart."""
    return 2.0 * math.sin(min(abs(radians), math.pi) / 2.0)


def arc(chord_length: float) -> float:
    """Angle in radians between two points of the unit circle that are a chord apart."""
    return 2.0 * math.asin(min(chord_length / 2.0, 1.0))
