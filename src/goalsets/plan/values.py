"""Which values a search gives to each part: now, asked for, and others that may help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from goalsets.plan.evidence import LIMIT, Evidence
from goalsets.plan.parts import Floats

GOAL = 1
"""The number of the value that is asked for, among a part's values; 0 is the one it has now."""
_SIDESTEPS, _SIDESTEPS_ALONE = 12, 6
"""Values that a part may be put to out of the way: one of a kind, which others may stand in the way
of, and one that is alone."""
_INNER = (0.1, 0.9)
"""Quantiles of each coordinate between which they lie."""
_APART = 1.5
"""Tolerances between two of them."""


def candidate_values(
    evidence: Evidence, state: Floats, goal: Floats, asked: Sequence[int]
) -> list[list[Floats]]:
    """The values `[n]` of each part: now, asked for, and others.

    Args:
        evidence: Knows the recorded moves.
        state: `[D]`, where things are.
        goal: `[D]`, where those should be that are asked for.
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
    """Where a part was before it came to what is asked for together with others."""
    part = evidence.parts[place]
    for jump in evidence.joint:
        if place in jump.parts:
            apart = part.apart(jump.moves.after, goal)
            for row in np.argsort(apart)[:5]:
                before = jump.moves.before[row]
                if apart[row] <= LIMIT < part.apart(before, goal):
                    yield before[part.columns]


def _sidesteps(evidence: Evidence, place: int, state: Floats, goal: Floats | None) -> list[Floats]:
    """Values, far from each other, that parts of this kind came to; none is nearly the goal."""
    part, moves = evidence.parts[place], evidence.moves
    values = np.concatenate(
        [
            moves.after[moves.changed[:, other]][:, evidence.parts[other].columns]
            for other in (place, *evidence.alike(place))
        ]
    )
    # Not at the rim of what the data shows: a robot hardly gets there.
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
    """Rows of points `[N, m]`, drawn at random, no two of which are within a tolerance or so."""
    chosen: list[int] = []
    for row in np.random.default_rng(seed).permutation(len(points))[: 20 * count].tolist():
        if not chosen or np.linalg.norm(points[chosen] - points[row], axis=-1).min() > _APART:
            chosen.append(row)
        if len(chosen) == count:
            break
    return chosen


def other_value(values: Sequence[Floats], number: int) -> int | None:
    """The other value of a switch that has two; None where it has more."""
    others = [n for n in range(len(values)) if not np.array_equal(values[n], values[number])]
    if len({values[n].tobytes() for n in others}) != 1:
        return None
    return GOAL if GOAL in others else others[0]
