"""Turns: a large turn of an object is asked for in pieces.

Hands turn an object a little, put it down and grasp it again. So a policy that imitates data turns
towards a near heading at full speed. For a far heading the data has many different first actions,
and their mean turns slowly or not at all. So the policy is always asked for a heading a little
ahead.

In some data a hand turns an object while it lifts it, and carries it on without turning it. Such
*early turns* need more. The object in the air turns no further: from there the data went on to
places that the question does not name, in all directions, and the mean is to hover. So if the turn
stalls, the policy is asked to lower the object to the nearest place where it has rested, and then
for the heading again. The next lift turns it further. If a question also asks for a place, a large
early turn comes first and the place after it.

An object may also lie at its place with another heading than it should. Few hands grasp an object
to put it down where it was, so the policy leaves it there. The planner then asks for the heading
alone, and for the place again when the heading holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Group
from goalsets.core.metrics import arc
from goalsets.plan.moves import Moves, settling_moves
from goalsets.plan.parts import Flags, Floats, Part, Rows

_PIECE = 2.25
"""The largest turn that is asked for at once, in tolerances."""
_FIRST, _ENOUGH = 2.5, 0.9
"""A turn of more tolerances than the first number is made before the object goes to its place,
until at most the second number is left."""
_PROGRESS, _STALLED = 0.25, 5
"""A turn stalls if it comes no nearer by the first number of tolerances in the second number of
steps."""
_LOWERED, _LOWERING = 1.0, 12
"""The object is then lowered until it is within the first number of tolerances of a resting place,
for at most the second number of steps."""
_EARLY = 0.7
"""Turns are early if usually at least this share of a turn is made in the first half of a move."""
_FEWEST = 20
"""So many turns must be seen to say so."""
_PARKED = 35
"""An object at its place whose turn stalls for this many steps is turned first, too."""
_NOWHERE = np.zeros(0, np.float32)


@dataclass(frozen=True, eq=False)
class Heading:
    """A group of two coordinates, cosine and sine, of an object that settles."""

    columns: NDArray[np.intp]
    """The coordinates of cosine and sine."""
    tolerance: float
    """In radians."""
    place: NDArray[np.intp]
    """The coordinates of the object's place; none if it has no place."""
    near: float
    """The tolerance of the place."""
    rests: Floats
    """`[N, k]`, places where the object has come to rest in the data."""
    early: bool
    """Whether the data turns the object while it is lifted, and not while it is carried."""

    def is_asked(self, mask: Flags) -> bool:
        """Whether a mask `[D]` asks for it."""
        return bool(mask[self.columns].all())

    def turn(self, state: Floats, reference: Floats) -> float:
        """The turn from a state to a reference in tolerances, negative if it is clockwise."""
        (cosine, sine), (to_cosine, to_sine) = state[self.columns], reference[self.columns]
        turn = np.arctan2(to_sine, to_cosine) - np.arctan2(sine, cosine)
        return float((turn + np.pi) % (2 * np.pi) - np.pi) / self.tolerance

    def ahead(self, state: Floats, turn: float) -> Floats:
        """The heading `[2]` after a turn by some tolerances."""
        cosine, sine = state[self.columns]
        angle = np.arctan2(sine, cosine) + turn * self.tolerance
        return np.array([np.cos(angle), np.sin(angle)], np.float32)

    def nearest_rest(self, state: Floats) -> Floats:
        """The resting place `[k]` that is nearest to the object."""
        away = self.rests - state[self.place]
        return self.rests[np.argmin((away * away).sum(-1))]

    def away_from(self, rest: Floats, state: Floats) -> float:
        """How far the object is from a resting place, in tolerances."""
        return float(np.linalg.norm(state[self.place] - rest)) / self.near


def early_turns(parts: Sequence[Part], observations: Floats, offsets: Rows) -> tuple[str, ...]:
    """The groups whose turns are early in data `[R, D]`, by name.

    Args:
        parts: The parts that make moves.
        observations: `[R, D]`.
        offsets: `[E + 1]`, the rows at which episodes begin.
    """
    return tuple(
        group.name
        for part in parts
        if part.nature == "settling" and part.place is not None
        for group, tolerance in zip(part.groups, part.tolerances, strict=True)
        if group.metric == "angle" and _is_early(part, group, arc(tolerance), observations, offsets)
    )


def _is_early(
    part: Part, group: Group, tolerance: float, observations: Floats, offsets: Rows
) -> bool:
    cosine, sine = group.indices
    shares: list[float] = []
    for move in settling_moves(part, 0, observations, offsets):
        rows = observations[move.first : move.last + 1]
        turned = np.unwrap(np.arctan2(rows[:, sine], rows[:, cosine]))
        turned = turned - turned[0]
        if tolerance < abs(turned[-1]) < np.pi / 2:  # the way round is clear
            shares.append(float(turned[len(turned) // 2] / turned[-1]))
    return len(shares) >= _FEWEST and float(np.median(shares)) >= _EARLY


def headings(parts: Sequence[Part], moves: Moves, early: Sequence[str] = ()) -> tuple[Heading, ...]:
    """The headings of settling parts. Roaming parts are not put down, so they need no pieces.

    Args:
        parts: The parts that make moves.
        moves: Their recorded moves.
        early: The names of the groups whose turns are early.
    """
    found: list[Heading] = []
    for number, part in enumerate(parts):
        if part.nature != "settling":
            continue
        place, near = part.place or (np.zeros(0, np.intp), 1.0)
        rests = moves.after[moves.changed[:, number]][:, place]
        found += [
            Heading(
                np.array(group.indices),
                arc(tolerance),
                place,
                near,
                rests,
                group.name in early and len(place) > 0 and len(rests) > 0,
            )
            for group, tolerance in zip(part.groups, part.tolerances, strict=True)
            if group.metric == "angle" and tolerance > 0
        ]
    return tuple(found)


@dataclass
class Turning:
    """The turn of one step of a plan: a part of the memory of an episode."""

    first: bool = False
    """Whether the turn comes before the place."""
    least: float = np.inf
    """The smallest turn that was left, …"""
    stalled: int = 0
    """… and for how many steps it has not become smaller."""
    lowering: int = 0
    """For how many steps the object is still lowered, …"""
    rest: Floats = field(default_factory=lambda: _NOWHERE)
    """… to this place, …"""
    held: Floats = field(default_factory=lambda: _NOWHERE)
    """… with this heading."""

    def ask(
        self, turns: Sequence[Heading], state: Floats, reference: Floats, mask: Flags
    ) -> tuple[Floats, Flags]:
        """The reference `[D]` and mask `[D]` to ask for on the way to others."""
        for heading in turns:
            if heading.is_asked(mask):
                left = abs(heading.turn(state, reference))
                if left > _ENOUGH:
                    return self._towards(heading, left, state, reference, mask)
                self.first = False
        return reference, mask

    def _towards(
        self, heading: Heading, left: float, state: Floats, reference: Floats, mask: Flags
    ) -> tuple[Floats, Flags]:
        found = np.array(reference, np.float32)
        piece = np.clip(heading.turn(state, reference), -_PIECE, _PIECE)
        found[heading.columns] = heading.ahead(state, piece)
        self._note(left)
        asks_for_place = bool(mask[heading.place].any())
        if asks_for_place and not self.first:
            parked = heading.away_from(reference[heading.place], state) <= 1.0
            self.first = (heading.early and left > _FIRST) or (parked and self.stalled > _PARKED)
        if asks_for_place and not self.first:
            return found, mask
        asked = mask.copy()
        asked[heading.place] = False
        if heading.early:
            self._lower(heading, left, state)
        if self.lowering:
            found[heading.place], found[heading.columns] = self.rest, self.held
            asked[heading.place] = True
        return found, asked

    def _note(self, left: float) -> None:
        """Count the steps in which the turn has come no nearer."""
        if left < self.least - _PROGRESS:
            self.least, self.stalled = left, 0
        self.stalled += 1

    def _lower(self, heading: Heading, left: float, state: Floats) -> None:
        """Begin to lower the object if its turn stalls, and end when it is low enough."""
        if self.lowering:
            self.lowering -= 1
            if heading.away_from(self.rest, state) <= _LOWERED:
                self.lowering = 0
            if not self.lowering:
                self.least, self.stalled = left, 0
        elif self.stalled > _STALLED:
            rest = heading.nearest_rest(state)
            if heading.away_from(rest, state) > _LOWERED:
                self.lowering, self.rest = _LOWERING, rest
                self.held = np.array(state[heading.columns])
