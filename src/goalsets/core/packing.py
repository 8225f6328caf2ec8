"""Packed goals: a reference and its query in one vector, [q ⊙ g, q].

Some libraries know goals only as vectors. A packed goal carries the query with its reference
through such a library. Inactive coordinates are zero, so that the learner cannot see them: this is
GS-HER with the zero fill.
"""

from __future__ import annotations

from goalsets.core.errors import GoalSetError
from goalsets.core.metrics import Array, namespace


def pack_goal(states: Array, masks: Array) -> Array:
    """States and masks `[..., D]` give `[..., 2 D]`, of the states' type; masks broadcast."""
    xp = namespace(states)
    masks = xp.broadcast_to(masks, states.shape)
    # Select rather than multiply: an inactive coordinate may hold anything, even NaN.
    shown = xp.where(masks, states, xp.zeros_like(states))
    if xp.__name__ == "numpy":
        return xp.concatenate((shown, masks.astype(states.dtype)), axis=-1)
    return xp.cat((shown, masks.to(states.dtype)), dim=-1)


def unpack_goal(goals: Array) -> tuple[Array, Array]:
    """Packed goals `[..., 2 D]` give references `[..., D]`, zero where not asked, and masks."""
    width = goals.shape[-1]
    if width % 2:
        raise GoalSetError(
            f"a packed goal has a reference and a mask of one length, got {width} numbers."
        )
    return goals[..., : width // 2], goals[..., width // 2 :] > 0.5
