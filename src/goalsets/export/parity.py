"""Whether an exported policy answers as the original does, on ten thousand random questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.acting import Policy
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser

QUESTIONS = 10_000
ONE_BY_ONE = 1_000
"""How many of them are asked one at a time, as a robot does: libraries then multiply otherwise."""
TOLERANCE = 1e-5
_DIGITS = 0.1
"""The least share of its numbers that a component's range counts for."""

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]


class ParityError(GoalsetsError):
    """An export that does not answer as the policy does."""


@dataclass(frozen=True)
class Parity:
    """The largest differences that were found."""

    action: float
    """As a share of half the range between a component's bounds: of 1 where they are -1 and 1."""
    distance: float | None
    """As a share of the largest distance, if that is above 1: float32 has seven digits, and a
    hundred steps take two of them."""

    def check(self) -> None:
        """Raise an error if a difference is above the tolerance; NaN is."""
        for name, found in (("actions", self.action), ("distances", self.distance)):
            if found is not None and not found <= TOLERANCE:
                raise ParityError(
                    f"the exported {name} differ from the policy's by {found:.2g}, more than "
                    f"{TOLERANCE:g}: nothing was written."
                )


def measure_parity(
    policy: Policy,
    exported: Policy,
    layout: StateLayout,
    normaliser: Normaliser,
    bounds: Bounds,
    *,
    seed: int = 0,
) -> Parity:
    """Ask both the same, and find the largest differences."""
    asked = random_questions(layout, normaliser, seed)
    ends = np.maximum(np.abs(bounds.low), np.abs(bounds.high))
    # A component far from zero, such as 1000 to 1001, has no more digits than its numbers have.
    units = np.maximum((bounds.high - bounds.low) / 2, _DIGITS * ends)
    units[units == 0] = 1.0  # one that never changes
    action = _largest(policy.act(*asked), _ask(exported.act, asked), units)
    if policy.distance_unit is None:
        return Parity(action, None)
    steps = policy.distance(*asked)
    scale = max(1.0, float(np.abs(steps).max()))
    return Parity(action, _largest(steps, _ask(exported.distance, asked)) / scale)


def random_questions(
    layout: StateLayout, normaliser: Normaliser, seed: int
) -> tuple[Floats, Floats, Masks]:
    """States and references as spread as the data, a tenth of them three times as far; and masks.

    Masks have any number of active coordinates, from one to all.
    """
    rng = np.random.default_rng(seed)
    shape = (QUESTIONS, layout.dim)
    spread = np.where(rng.random((QUESTIONS, 1)) < 0.1, 3.0, 1.0)
    states, goals = (
        (normaliser.state_mean + normaliser.state_std * spread * rng.standard_normal(shape)).astype(
            np.float32
        )
        for _ in range(2)
    )
    share = rng.random((QUESTIONS, 1)) * 1.2  # the full state must occur, too
    masks = rng.random(shape) < share
    masks[np.arange(QUESTIONS), rng.integers(0, layout.dim, QUESTIONS)] = True
    return states, goals, masks


def _ask(method: Callable[[Any, Any, Any], Floats], asked: tuple[Floats, Floats, Masks]) -> Floats:
    states, goals, masks = asked
    batch = method(states[ONE_BY_ONE:], goals[ONE_BY_ONE:], masks[ONE_BY_ONE:])
    singles = [method(states[row], goals[row], masks[row]) for row in range(ONE_BY_ONE)]
    return np.concatenate((np.stack(singles), batch))


def _largest(left: Floats, right: Floats, units: NDArray[np.floating] | float = 1.0) -> float:
    """The largest difference, counted in units; NaN if there is one anywhere."""
    return float(np.abs((left.astype(np.float64) - right) / units).max())
