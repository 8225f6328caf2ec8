"""Bounds of actions: what is known of them, or what was logged, in the data's own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.data.pages import pieces
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]
Origin = Literal["given", "space", "space and data", "data", "older"]

_CHUNK = 1 << 18
"""Rows looked at together, so that a mapped store stays on disk."""
_ROOM = 0.1
"""Of the range of logged actions, beyond either end."""
_TOLD = 8
"""Components that are told one by one; the rest is counted."""
_WORDS: Mapping[Origin, str] = {
    "given": "as they were set",
    "space": "from the action space",
    "space and data": "from the action space and, where it has no limit, from the data and a "
    "tenth of its range more at either end",
    "data": "from the data and a tenth of its range more at either end",
    "older": "as for all runs before bounds were kept",
}


class BoundsError(GoalsetsError):
    """Bounds that cannot be those of the actions."""


@dataclass(frozen=True)
class Bounds:
    """The smallest and largest actions, `[A]` each, in the environment's units."""

    low: Floats
    high: Floats
    origin: Origin = "given"
    """Where they come from."""

    @classmethod
    def plus_minus_one(cls, action_dim: int) -> Bounds:
        """What runs were bounded by before they said so themselves."""
        ones = np.ones(action_dim, dtype=np.float32)
        return cls(-ones, ones, "older")

    @classmethod
    def seen_in(cls, trajectories: Trajectories) -> Bounds:
        """What the data itself did, with some room: see `Seen`."""
        last = np.zeros(trajectories.num_states, dtype=np.bool_)
        last[trajectories.offsets[1:] - 1] = True  # filling actions, which nobody took
        seen = Seen()
        for rows, part in pieces(trajectories.actions, _CHUNK):
            seen.add(part[~last[rows]])
        return seen.bounds()

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Bounds:
        """Read what `to_dict` made."""
        low, high = (np.array(plain[key], dtype=np.float32) for key in ("low", "high"))
        if low.ndim != 1 or low.shape != high.shape or plain["from"] not in get_args(Origin):
            raise ValueError("the bounds of actions do not fit each other")
        return cls(low, high, plain["from"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file."""
        return {"low": self.low.tolist(), "high": self.high.tolist(), "from": self.origin}

    def keep(self, actions: Floats) -> Floats:
        """Bring actions within bounds, in place."""
        np.minimum(actions, self.high, out=actions)  # a third of the time of np.clip
        return np.maximum(actions, self.low, out=actions)

    @property
    def origin_in_words(self) -> str:
        """Where they come from, for people."""
        return _WORDS[self.origin]

    def __str__(self) -> str:
        """Such as `-80 to 80, -80 to 80, 0 to 1`; once if all are the same."""
        told = [f"{low:.4g} to {high:.4g}" for low, high in zip(self.low, self.high, strict=True)]
        if len(set(told)) == 1:
            return told[0]
        more = f" and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        return ", ".join(told[:_TOLD]) + more


class Seen:
    """Actions that were logged, seen one part after another.

    Their bounds are the smallest and the largest, and a tenth of the range more on either side: an
    action far from all that was logged is no answer of a policy but a mistake. A component with two
    values, such as a gripper that is told to open or to close, is a switch and has no such room.
    """

    def __init__(self) -> None:
        """Nothing has been seen."""
        self._low = self._high = np.zeros(0)
        self._values: list[set[float] | None] = []

    def add(self, actions: Floats) -> None:
        """Look at actions `[N, A]`; what is not finite is passed over."""
        if not self._values:
            self._low, self._high = (np.full(actions.shape[1], end) for end in (np.inf, -np.inf))
            self._values = [set() for _ in range(actions.shape[1])]
        if len(actions) == 0:
            return
        finite = np.isfinite(actions)
        self._low = np.minimum(self._low, np.where(finite, actions, np.inf).min(0))
        self._high = np.maximum(self._high, np.where(finite, actions, -np.inf).max(0))
        for component, known in enumerate(self._values):
            if known is not None:
                values = actions[finite[:, component], component]
                known.update(np.unique(values).tolist()[:3])
                if len(known) > 2:
                    self._values[component] = None

    def bounds(self) -> Bounds:
        """What was seen, with room."""
        none = self._low > self._high  # not one finite number
        low, high = np.where(none, 0.0, self._low), np.where(none, 0.0, self._high)
        switch = np.array([known is not None for known in self._values], dtype=np.bool_)
        room = np.where(switch, 0.0, _ROOM * (high - low))
        return Bounds((low - room).astype(np.float32), (high + room).astype(np.float32), "data")


@dataclass(frozen=True)
class Limits:
    """What is known of actions without looking at them."""

    space: tuple[Floats, Floats] | None = None
    """The ends of their space, `[A]` each; infinite where it has none."""
    low: Sequence[float] | None = None
    """What somebody says of the smallest: one number for all components, or one for each."""
    high: Sequence[float] | None = None
    """What somebody says of the largest."""

    def bounds(self, seen: Bounds) -> Bounds:
        """Put bounds together: what somebody says, else what the space says, else what was seen.

        Raises:
            BoundsError: There are not as many numbers as components, or an end is beyond the other.
        """
        low, high, origin = seen.low, seen.high, seen.origin
        if self.space is not None:
            known = [np.isfinite(end) for end in self.space]
            low = np.where(known[0], self.space[0], low)
            high = np.where(known[1], self.space[1], high)
            if np.any(known):
                origin = "space" if np.all(known) else "space and data"
        if self.low is not None or self.high is not None:
            low = _each("low", self.low, len(low)) if self.low is not None else low
            high = _each("high", self.high, len(high)) if self.high is not None else high
            origin = "given"
        wrong = np.flatnonzero(~(low <= high))
        if len(wrong):
            at = int(wrong[0])
            raise BoundsError(
                f"the smallest of action {at} is {low[at]:.4g}, above its largest, {high[at]:.4g}: "
                "give both ends, the smaller one as the low one."
            )
        return Bounds(low.astype(np.float32), high.astype(np.float32), origin)

    def check(self, action_dim: int) -> None:
        """Raise an error for what can be seen to be wrong before there is any data."""
        wide = np.full(action_dim, np.inf, np.float32)
        self.bounds(Bounds(-wide, wide, "data"))


def _each(end: str, told: Sequence[float], action_dim: int) -> Floats:
    """One number for each component."""
    numbers = np.array(told, dtype=np.float32)
    if len(numbers) not in (1, action_dim):
        raise BoundsError(
            f"got {len(numbers)} numbers for the {end} ends of actions with {action_dim} "
            f"components: give one for each, or one for all."
        )
    if not np.isfinite(numbers).all():
        raise BoundsError(f"the {end} ends of actions must be finite numbers, got {list(told)}.")
    return np.broadcast_to(numbers, (action_dim,)).copy()
