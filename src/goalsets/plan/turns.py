"""Turns: a large turn of an object is asked for in pieces.

Hands turn an object a little, put it down and grasp it again. So a policy that imitates data turns
towards a near heading at full speed. For a far heading the data has many different first actions,
and their mean turns slowly or not at all. If the policy is asked repeatedly for a heading a little
ahead, it reaches the far one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goalsets.core.metrics import arc
from goalsets.plan.parts import Flags, Floats, Part

_PIECE = 2.25
"""The largest turn that is asked for at once, in tolerances."""


@dataclass(frozen=True)
class Heading:
    """A group of two coordinates, cosine and sine."""

    cosine: int
    sine: int
    piece: float
    """The largest turn that is asked for at once, in radians."""


def headings(parts: Sequence[Part]) -> tuple[Heading, ...]:
    """The headings of settling parts. Roaming parts are not put down, so they need no pieces."""
    return tuple(
        Heading(group.indices[0], group.indices[1], _PIECE * arc(tolerance))
        for part in parts
        if part.nature == "settling"
        for group, tolerance in zip(part.groups, part.tolerances, strict=True)
        if group.metric == "angle"
    )


def nearer(turning: Sequence[Heading], state: Floats, reference: Floats, mask: Flags) -> Floats:
    """The reference `[D]`, with active headings moved to at most one piece from the state."""
    found = reference
    for heading in turning:
        cosine, sine = heading.cosine, heading.sine
        if not (mask[cosine] and mask[sine]):
            continue
        now = np.arctan2(state[sine], state[cosine])
        turn = np.arctan2(reference[sine], reference[cosine]) - now
        turn = (turn + np.pi) % (2 * np.pi) - np.pi
        if abs(turn) > heading.piece:
            if found is reference:
                found = np.array(reference, np.float32)
            ahead = now + np.copysign(heading.piece, turn)
            found[cosine], found[sine] = np.cos(ahead), np.sin(ahead)
    return found
