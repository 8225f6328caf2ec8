"""Places: a part's own value, and the relative position of the nearest other part of its kind.

So a free place, a place on top of another part and a place inside another part are three different
places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goalsets.plan.parts import Floats, Part

_NEAR = 2.0
"""Parts of one kind that are farther apart than this many tolerances do not influence each
other."""
_SHARP = 2.0
"""The weight of the relative position of others, compared with a part's own value."""


def place_of(part: Part) -> NDArray[np.intp]:
    """The coordinates of a part's position; empty if it has none."""
    return part.place[0] if part.place is not None else np.empty(0, np.intp)


def features(part: Part, states: Floats, others: Floats) -> Floats:
    """Places `[C, m]` of a part in states `[C, D]`, with others at positions `[O, n]`."""
    return features_of_rows(
        part, states, [np.broadcast_to(o, (len(states), len(o))) for o in others]
    )


def features_of_rows(part: Part, states: Floats, others: Sequence[Floats]) -> Floats:
    """As `features`, but each row has its own positions of others, each `[C, n]`."""
    own = part.embed(states)
    if part.place is None or not others or others[0].shape[-1] != len(part.place[0]):
        return own
    columns, tolerance = part.place
    offsets = np.stack([(other - states[:, columns]) / tolerance for other in others])
    apart = np.linalg.norm(offsets, axis=-1)
    nearest = apart.argmin(0)[None]
    offset = np.take_along_axis(offsets, nearest[..., None], 0)[0]
    apart = np.take_along_axis(apart, nearest, 0)[0][:, None]
    # Zero if the other is far. Nearer, its offset counts; inside the part, only that it touches.
    touch = np.maximum(0.0, _NEAR - apart)
    beside = _SHARP * np.concatenate([offset * touch / _NEAR, touch], axis=-1)
    return np.concatenate([own, beside], axis=-1).astype(np.float32)


def touches(part: Part, state: Floats, other: Part, elsewhere: Floats) -> bool:
    """Whether a part in one state is near another part in another state."""
    if part.place is None or other.place is None:
        return False
    columns, tolerance = part.place
    apart = np.linalg.norm(state[columns] - elsewhere[place_of(other)])
    return bool(apart < _NEAR * tolerance)
