"""Compare an exported policy with the original, on ten thousand random questions."""

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
from goalsets.policy import TrainedPolicy

QUESTIONS = 10_000
ONE_BY_ONE = 1_000
"""How many are asked one at a time, like a robot: libraries then use other kernels."""
TOLERANCE = 1e-5
_DIGITS = 0.1
"""A component's range counts as at least this share of its largest number."""

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]


class ParityError(GoalsetsError):
    """An export does not answer like the policy."""


@dataclass(frozen=True)
class Parity:
    """The largest differences that were found."""

    action: float
    """Largest difference of an action, divided by half the range of the component; for bounds of
    -1 and 1 that is 1. If the export chooses the other value of a switch, it is the distance of the
    policy's number from the middle between the values: next to it, rounding decides."""
    distance: float | None
    """Largest difference of a distance, divided by the largest distance if that is above 1:
    float32 has seven digits, and a distance of a hundred steps uses two of them."""

    def check(self) -> None:
        """Raise an error if a difference is above the tolerance, or NaN."""
        for name, found in (("actions", self.action), ("distances", self.distance)):
            if found is not None and not found <= TOLERANCE:
                raise ParityError(
                    f"the exported {name} differ from the policy's by {found:.2g}, more than "
                    f"{TOLERANCE:g}: nothing was written."
                )


def measure_parity(
    policy: TrainedPolicy,
    exported: Policy,
    layout: StateLayout,
    normaliser: Normaliser,
    bounds: Bounds,
    *,
    seed: int = 0,
) -> Parity:
    """Ask both the same questions, and find the largest differences."""
    asked = random_questions(layout, normaliser, seed)
    low, high = np.array([bounds.ends(i) for i in range(len(bounds.low))], np.float32).T
    ends = np.maximum(np.abs(low), np.abs(high))
    # A range far from zero, such as 1000 to 1001, is limited by the precision of its numbers.
    units = np.maximum((high - low) / 2, _DIGITS * ends)
    units[units == 0] = 1.0  # a component that never changes
    numbers = TrainedPolicy(policy.learner, layout, normaliser, bounds.without_switches())
    found = apart(numbers.act(*asked), _ask(exported.act, asked), bounds)
    action = float((found / units).max())
    if policy.distance_unit is None:
        return Parity(action, None)
    steps = policy.distance(*asked)
    scale = max(1.0, float(np.abs(steps).max()))
    told = _ask(exported.distance, asked)
    return Parity(action, float(np.abs(steps.astype(np.float64) - told).max()) / scale)


def random_questions(
    layout: StateLayout, normaliser: Normaliser, seed: int
) -> tuple[Floats, Floats, Masks]:
    """Random states, references and masks.

    States and references are spread like the data; a tenth of them are spread three times as wide.
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
    share = rng.random((QUESTIONS, 1)) * 1.2  # above 1: the full state must occur, too
    masks = rng.random(shape) < share
    masks[np.arange(QUESTIONS), rng.integers(0, layout.dim, QUESTIONS)] = True
    return states, goals, masks


def _ask(method: Callable[[Any, Any, Any], Floats], asked: tuple[Floats, Floats, Masks]) -> Floats:
    states, goals, masks = asked
    batch = method(states[ONE_BY_ONE:], goals[ONE_BY_ONE:], masks[ONE_BY_ONE:])
    singles = [method(states[row], goals[row], masks[row]) for row in range(ONE_BY_ONE)]
    return np.concatenate((np.stack(singles), batch))


def apart(numbers: Floats, exported: Floats, bounds: Bounds) -> NDArray[np.float64]:
    """How far actions `[N, A]` are apart; NaN if one of two is NaN.

    Args:
        numbers: The policy's actions, with numbers between the values of switches.
        exported: The exported actions.
        bounds: The bounds, with their switches.
    """
    chosen = bounds.snap(numbers.copy())
    found = np.abs(chosen.astype(np.float64) - exported)
    at = bounds.snapping
    other = np.where(chosen == at.off, at.on, at.off)
    is_other = at.is_switch & (chosen != exported) & (exported == other)
    return np.where(is_other, np.abs(numbers.astype(np.float64) - at.middle), found)
