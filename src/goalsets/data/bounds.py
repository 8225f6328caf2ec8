"""Bounds of actions, in the data's own units: given, from the action space, or from the log.

A component may be a switch; bounds then have its two values: see `goalsets.data.switches`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.data.pages import pieces
from goalsets.data.switches import Snapping, Switches, read_switches, write_switches
from goalsets.data.trajectories import Trajectories

Floats = NDArray[np.float32]
Origin = Literal["given", "space", "space and data", "data", "older"]

_CHUNK = 1 << 18
"""Rows that are read at a time, so that most of a mapped store stays on disk."""
_ROOM = 0.1
"""How far bounds lie beyond the logged actions at either end, as a share of their range."""
_TOLD = 8
"""How many components are printed; the rest is counted."""
_WORDS: Mapping[Origin, str] = {
    "given": "as they were set",
    "space": "from the action space",
    "space and data": "from the action space; where it has no limit, from the data, widened by a "
    "tenth of its range at either end",
    "data": "from the data, widened by a tenth of its range at either end",
    "older": "as in all runs of older versions, which did not store bounds",
}


class BoundsError(GoalsetsError):
    """Bounds or switches do not fit the actions, or the low end is above the high end."""


@dataclass(frozen=True)
class Bounds:
    """The smallest and largest actions, `[A]` each, in the environment's units."""

    low: Floats
    high: Floats
    origin: Origin = "given"
    """Where they come from."""
    switches: Switches = field(default_factory=dict[int, tuple[float, float]])
    """Components of which a policy answers only two values; the values are within the bounds."""

    @classmethod
    def plus_minus_one(cls, action_dim: int) -> Bounds:
        """The bounds of runs from older versions, which did not store bounds."""
        ones = np.ones(action_dim, dtype=np.float32)
        return cls(-ones, ones, "older")

    @classmethod
    def seen_in(cls, trajectories: Trajectories) -> Bounds:
        """The range of the data's actions, with some room: see `Seen`."""
        return Seen.of(trajectories).bounds()

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Bounds:
        """Read the plain data that `to_dict` returns."""
        low, high = (np.array(plain[key], dtype=np.float32) for key in ("low", "high"))
        if low.ndim != 1 or low.shape != high.shape or plain["from"] not in get_args(Origin):
            raise ValueError("the bounds of actions do not fit each other")
        switches = read_switches(plain.get("switches", {}), len(low), "'switches'")
        return cls(low, high, plain["from"], switches)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a file."""
        plain = {"low": self.low.tolist(), "high": self.high.tolist(), "from": self.origin}
        return plain | ({"switches": write_switches(self.switches)} if self.switches else {})

    def keep(self, actions: Floats) -> Floats:
        """Bring actions within bounds, and switches to one of their values, in place."""
        np.minimum(actions, self.high, out=actions)  # a third of the time of np.clip
        np.maximum(actions, self.low, out=actions)
        return self.snap(actions)

    def snap(self, actions: Floats) -> Floats:
        """Bring each switch to the nearer one of its two values, in place."""
        return self.snapping.snap(actions) if self.switches else actions

    @functools.cached_property
    def snapping(self) -> Snapping:
        """The switches as arrays."""
        return Snapping.of(self.switches, len(self.low))

    def without_switches(self) -> Bounds:
        """The same bounds; a policy with them answers numbers between the values of a switch."""
        return dataclasses.replace(self, switches={})

    def ends(self, component: int) -> tuple[float, float]:
        """The smallest and the largest answer of a policy; the two values of a switch."""
        whole = float(self.low[component]), float(self.high[component])
        return self.switches.get(component, whole)

    @property
    def origin_in_words(self) -> str:
        """Where they come from, as text for people."""
        return _WORDS[self.origin]

    def __str__(self) -> str:
        """Text such as `-80 to 80, -80 to 80, 0 or 1`; one range if all are the same."""
        told: list[str] = []
        for component in range(len(self.low)):
            low, high = self.ends(component)
            told.append(f"{low:.4g} {'or' if component in self.switches else 'to'} {high:.4g}")
        if len(set(told)) == 1:
            return told[0]
        more = f" and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        return ", ".join(told[:_TOLD]) + more


class Seen:
    """Collects the range of logged actions, one part of the data after another.

    The bounds are the smallest and the largest action, widened by a tenth of the range at either
    end. An action further from the data is a mistake of the policy. A component with only two
    values, such as a command to open or close a gripper, is a switch; its range is not widened.
    """

    def __init__(self) -> None:
        """Start without actions."""
        self._low = self._high = np.zeros(0)
        self._values: list[set[float]] = []
        """Some different values of each component: all of them if it is a switch."""

    @classmethod
    def of(cls, trajectories: Trajectories) -> Seen:
        """All actions of some trajectories."""
        last = np.zeros(trajectories.num_states, dtype=np.bool_)
        last[trajectories.offsets[1:] - 1] = True  # these actions only fill the last rows
        seen = cls()
        for rows, part in pieces(trajectories.actions, _CHUNK):
            seen.add(part[~last[rows]])
        return seen

    def add(self, actions: Floats) -> None:
        """Add actions `[N, A]`; values that are not finite are ignored."""
        if not self._values:
            self._low, self._high = (np.full(actions.shape[1], end) for end in (np.inf, -np.inf))
            self._values = [set() for _ in range(actions.shape[1])]
        if len(actions) == 0:
            return
        finite = np.isfinite(actions)
        self._low = np.minimum(self._low, np.where(finite, actions, np.inf).min(0))
        self._high = np.maximum(self._high, np.where(finite, actions, -np.inf).max(0))
        for component, known in enumerate(self._values):
            if len(known) <= 2:
                values = actions[finite[:, component], component]
                known.update(np.unique(values).tolist()[:3])

    def bounds(self) -> Bounds:
        """The bounds of the actions so far."""
        none = self._low > self._high  # there was no finite number
        low, high = np.where(none, 0.0, self._low), np.where(none, 0.0, self._high)
        switch = np.array([len(known) <= 2 for known in self._values], dtype=np.bool_)
        room = np.where(switch, 0.0, _ROOM * (high - low))
        return Bounds((low - room).astype(np.float32), (high + room).astype(np.float32), "data")

    def switches(self, components: Sequence[int]) -> Switches:
        """The two values of some components.

        Raises:
            BoundsError: A component does not exist, or does not have two values.
        """
        _check_components(components, len(self._values))
        found: dict[int, tuple[float, float]] = {}
        for component in sorted(set(components)):
            values = [value + 0.0 for value in sorted(self._values[component])]  # no negative zero
            if len(values) != 2:
                raise BoundsError(
                    f"action {component} is not a switch: the data has {_listed(values)} there. A "
                    f"switch has exactly two values; leave {component} out of the switches."
                )
            found[component] = (values[0], values[1])
        return found


@dataclass(frozen=True)
class Limits:
    """What is known of the actions before the data is read."""

    space: tuple[Floats, Floats] | None = None
    """The low and high ends of the action space, `[A]` each; infinite where it has no limit."""
    low: Sequence[float] | None = None
    """The low ends that the user gives: one number for all components, or one for each."""
    high: Sequence[float] | None = None
    """The high ends that the user gives."""
    switches: Sequence[int] | None = None
    """The components that the user declares to be switches; None leaves them as they were."""

    def bounds(self, known: Bounds, seen: Seen | None = None) -> Bounds:
        """Choose each bound: from the user, else from the action space, else from the data.

        Args:
            known: The bounds from the data, or those of a store.
            seen: The logged actions, which have the values of switches; needed if the user
                declares any.

        Raises:
            BoundsError: The number of values is not the number of components, a low end is above
                its high end, or a component cannot be a switch.
        """
        low, high, origin = known.low, known.high, known.origin
        if self.space is not None:
            limited = [np.isfinite(end) for end in self.space]
            low = np.where(limited[0], self.space[0], low)
            high = np.where(limited[1], self.space[1], high)
            if np.any(limited):
                origin = "space" if np.all(limited) else "space and data"
        if self.low is not None or self.high is not None:
            low = _each("low", self.low, len(low)) if self.low is not None else low
            high = _each("high", self.high, len(high)) if self.high is not None else high
            origin = "given"
        wrong = np.flatnonzero(~(low <= high))
        if len(wrong):
            at = int(wrong[0])
            raise BoundsError(
                f"the low end of action {at} is {low[at]:.4g}, above its high end, "
                f"{high[at]:.4g}: give both ends, with the smaller one as the low end."
            )
        low, high, switches = low.astype(np.float32), high.astype(np.float32), known.switches
        if self.switches is not None:
            switches = seen.switches(self.switches) if seen is not None else {}
        for component, (off, on) in switches.items():
            if not low[component] <= off < on <= high[component]:
                raise BoundsError(
                    f"action {component} is a switch, and its values in the data, {off:.4g} and "
                    f"{on:.4g}, are not within its bounds, {low[component]:.4g} to "
                    f"{high[component]:.4g}: widen the bounds, or leave {component} out of the "
                    "switches."
                )
        return Bounds(low, high, origin, switches)

    def check(self, action_dim: int) -> None:
        """Raise an error for mistakes that can be found without the data."""
        wide = np.full(action_dim, np.inf, np.float32)
        self.bounds(Bounds(-wide, wide, "data"))
        _check_components(self.switches or (), action_dim)


def _check_components(components: Sequence[int], action_dim: int) -> None:
    for component in components:
        if not 0 <= component < action_dim:
            raise BoundsError(
                f"there is no action {component} that could be a switch: actions have "
                f"{action_dim} components, numbered from 0 to {action_dim - 1}."
            )


def _listed(values: Sequence[float]) -> str:
    """The values of a component that is not a switch, as text."""
    if len(values) < 2:
        return f"only {values[0]:.4g}" if values else "no finite number"
    first, second, third = (f"{value:.4g}" for value in values[:3])
    return f"more than two values, such as {first}, {second} and {third},"


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
