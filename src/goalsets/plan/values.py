"""The values that a search may give to each part: the present one, the goal, and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from goalsets.plan.evidence import LIMIT, Evidence
from goalsets.plan.parts import Floats

GOAL = 1
"""The number of the goal among a part's values; 0 is its present value."""
_SIDESTEPS, _SIDESTEPS_ALONE = 12, 6
"""The number of values to which a part can be moved out of the way: the first if there are other
parts of its kind, which may also be in the way; the second otherwise."""
_INNER = (0.1, 0.9)
"""These values lie between these quantiles of each coordinate."""
_APART = 1.5
"""The smallest distance between two of them, in tolerances."""


def candidate_values(
    evidence: Evidence, state: Floats, goal: Floats, asked: Sequence[int]
) -> list[list[Floats]]:
    """The values `[n]` of each part: the present one, the goal, and others.

    Args:
        evidence: The recorded moves.
        state: `[D]`, the current state.
        goal: `[D]`, the goal of the parts that are asked for.
        asked: The numbers of the parts that are asked for.
    """
    found: list[list[Floats]] = []
    for place, part in enumerate(evidence.parts):
        now = state[part.columns]
        wanted = goal[part.columns] if place in asked else now
        if part.nature == "switch":
            others = list(np.unique(evidence.moves.after[:, part.columns], axis=0))
        else:
            ways = _ways_to(evidence, place, goal) if place in asked else ()
            away_from = goal if place in asked else None
            others = [*ways, *_sidesteps(evidence, place, state, away_from)]
        found.append([now, wanted, *others])
    return found


def _ways_to(evidence: Evidence, place: int, goal: Floats) -> Iterator[Floats]:
    """Values of a part before it moved to its goal in a joint move."""
    part = evidence.parts[place]
    for jump in evidence.joint:
        if place in jump.parts:
            apart = part.apart(jump.moves.after, goal)
            for row in np.argsort(apart)[:5]:
                before = jump.moves.before[row]
                if apart[row] <= LIMIT < part.apart(before, goal):
                    yield before[part.columns]


def _sidesteps(evidence: Evidence, place: int, state: Floats, goal: Floats | None) -> list[Floats]:
    """Values, far from each other, to which parts of this kind moved; none is near the goal."""
    part, moves = evidence.parts[place], evidence.moves
    values = np.concatenate(
        [
            moves.after[moves.changed[:, other]][:, evidence.parts[other].columns]
            for other in (place, *evidence.alike(place))
        ]
    )
    # Leave out values at the edge of the data, which a robot can hardly reach.
    low, high = np.quantile(values, _INNER, axis=0)
    inner = ((values >= low) & (values <= high)).all(-1)
    values = values[inner] if inner.any() else values
    whole = np.repeat(state[None], len(values), 0)
    whole[:, part.columns] = values
    if goal is not None:
        away = part.apart(whole, goal) > LIMIT
        values, whole = values[away], whole[away]
    count = _SIDESTEPS if evidence.alike(place) else _SIDESTEPS_ALONE
    return [values[row] for row in _scattered(part.embed(whole), count)]


def _scattered(points: Floats, count: int, seed: int = 0) -> list[int]:
    """Random rows of points `[N, m]` that are all at least `_APART` from each other."""
    chosen: list[int] = []
    for row in np.random.default_rng(seed).permutation(len(points))[: 20 * count].tolist():
        if not chosen or np.linalg.norm(points[chosen] - points[row], axis=-1).min() > _APART:
            chosen.append(row)
        if len(chosen) == count:
            break
    return chosen


def other_value(values: Sequence[Floats], number: int) -> int | None:
    """The other value of a switch that has two; None if it has more."""
    others = [n for n in range(len(values)) if not np.array_equal(values[n], values[number])]
    if len({values[n].tobytes() for n in others}) != 1:
        return None
    return GOAL if GOAL in others else others[0]
