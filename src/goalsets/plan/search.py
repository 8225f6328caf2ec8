"""Search: the cheapest chain of moves that the data supports, best first.

A node says which value each part has: the one it has now, the one that is asked for, or a value
that parts of its kind had in the data, where something can be put out of the way. An edge is a move
that the evidence allows. Its price is what such moves took, and more for one that the data shows
less well. What is left is estimated by what the missing parts take if nothing is in the way.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from goalsets.plan.evidence import LIMIT, Evidence, Jump
from goalsets.plan.parts import Floats
from goalsets.plan.switches import SwitchRule

_GOAL = 1
"""The number of the value that is asked for, among a part's values."""
_FREE = 0.5
"""So many tolerances from a recorded move cost nothing; …"""
_DOUBT = 100.0
"""… each tolerance more costs so many steps."""
_SIDESTEPS, _SIDESTEPS_ALONE = 12, 6
"""Values that a part may be put to out of the way: one of a kind, which others may stand in the way
of, and one that is alone."""
_APART = 1.5
"""Tolerances between two of them."""
_MOST = 1_000
"""A search that looks at more nodes than this ends without a plan."""

Node = tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """One move of a chain."""

    parts: tuple[int, ...]
    """Which parts change."""
    state: Floats
    """`[D]`, the state after it, as far as parts are concerned."""
    steps: float
    """What it should take."""
    far: float
    """How far the data is, in tolerances."""
    support: int
    """How many recorded moves speak for it."""
    aside: bool
    """Whether it puts something where nobody asked for it."""


@dataclass
class Penalties:
    """Moves that were tried and did not work out, and what they cost more from now on."""

    extra: dict[tuple[tuple[int, ...], bytes], float] = field(default_factory=dict)

    def add(self, found: Found, cost: float) -> None:
        """Make a move dearer."""
        key = _key(found.parts, found.state)
        self.extra[key] = self.extra.get(key, 0.0) + cost

    def of(self, parts: tuple[int, ...], state: Floats) -> float:
        """What a move costs more."""
        return self.extra.get(_key(parts, state), 0.0) if self.extra else 0.0


def _key(parts: tuple[int, ...], state: Floats) -> tuple[tuple[int, ...], bytes]:
    return parts, np.round(state, 2).tobytes()


class Search:
    """Finds chains from one state to one goal.

    Args:
        evidence: Says what moves are possible.
        state: `[D]`, where things are.
        goal: `[D]`, where those should be that are asked for.
        asked: The numbers of the parts that are asked for.
        penalties: Moves that did not work out.
    """

    def __init__(
        self,
        evidence: Evidence,
        state: Floats,
        goal: Floats,
        asked: Sequence[int],
        penalties: Penalties | None = None,
    ) -> None:
        """Collect the values that parts may take."""
        self.evidence = evidence
        self.parts = evidence.parts
        self.asked = tuple(asked)
        self._start = state
        self._penalties = penalties or Penalties()
        self.values = [self._values(place, state, goal) for place in range(len(self.parts))]
        self._usual = [self._usual_price(place) for place in range(len(self.parts))]
        self._switches = SwitchRule(self.parts, evidence.jumps)

    def _values(self, place: int, state: Floats, goal: Floats) -> list[Floats]:
        """Values `[n]` of a part: now, asked for, and others."""
        part = self.parts[place]
        now = state[part.columns]
        wanted = goal[part.columns] if place in self.asked else now
        if part.nature == "switch":
            seen = np.unique(self.evidence.moves.after[:, part.columns], axis=0)
            return [now, wanted, *seen]
        return [now, wanted, *self._ways_to(place, goal), *self._sidesteps(place, goal)]

    def _ways_to(self, place: int, goal: Floats) -> Iterator[Floats]:
        """Where a part was before it came to what is asked for together with others."""
        columns = self.parts[place].columns
        for jump in self.evidence.joint:
            if place in jump.parts and place in self.asked:
                apart = self.parts[place].apart(jump.moves.after, goal)
                for row in np.argsort(apart)[:5]:
                    if apart[row] <= LIMIT:
                        yield jump.moves.before[row, columns]

    def _sidesteps(self, place: int, goal: Floats) -> list[Floats]:
        """Values far from each other that parts of this kind came to by themselves."""
        part = self.parts[place]
        found: list[Floats] = []
        for other in (place, *self.evidence.alike(place)):
            moved = self.evidence.moves.changed[:, other]
            found.append(self.evidence.moves.after[moved][:, self.parts[other].columns])
        values = np.concatenate(found)
        whole = np.repeat(goal[None], len(values), 0)
        whole[:, part.columns] = values
        if place in self.asked:  # what is nearly there is no way out
            away = part.apart(whole, goal) > LIMIT
            values, whole = values[away], whole[away]
        count = _SIDESTEPS if self.evidence.alike(place) else _SIDESTEPS_ALONE
        return [values[row] for row in scattered(part.embed(whole), count)]

    def _usual_price(self, place: int) -> float:
        """What a move of a part usually takes.

        The least that one took would be a bound, and the chain then surely the cheapest. But
        prices hardly differ, and with the usual price the search goes straight to a good chain.
        """
        steps = self.evidence.moves.steps[self.evidence.moves.changed[:, place]]
        return float(np.median(steps)) if len(steps) else 1.0

    def run(self) -> list[Found] | None:
        """The cheapest chain; None if there is none."""
        if all(part in self._home(self._first) for part in self.asked):
            return []
        ticket = itertools.count()
        frontier = [(self._left(self._first), 0.0, 0.0, next(ticket), self._first)]
        best: dict[Node, float] = {self._first: 0.0}
        came: dict[Node, tuple[Node, Found]] = {}
        self.looked_at = 0
        while frontier and self.looked_at < _MOST:
            self.looked_at += 1
            _, _, spent, _, node = heapq.heappop(frontier)
            if spent > best[node]:
                continue
            if set(self.asked) <= self._home(node):
                return _trace(came, node)
            for after, found, price in self._expand(node):
                total = spent + price
                if total < best.get(after, np.inf):
                    best[after] = total
                    came[after] = (node, found)
                    # Among equals the one with the least left to do: it is nearly there.
                    left = self._left(after)
                    heapq.heappush(frontier, (total + left, left, total, next(ticket), after))
        return None

    @property
    def _first(self) -> Node:
        return (0,) * len(self.parts)

    def _home(self, node: Node) -> set[int]:
        """The parts that are where they should be."""
        return {
            place
            for place in self.asked
            if node[place] == _GOAL or self._near_goal[place][node[place]]
        }

    @property
    def _near_goal(self) -> Mapping[int, list[bool]]:
        if not hasattr(self, "_near"):
            self._near: dict[int, list[bool]] = {}
            for place in self.asked:
                part = self.parts[place]
                whole = np.repeat(self._start[None], len(self.values[place]), 0)
                whole[:, part.columns] = np.stack(self.values[place])
                self._near[place] = (part.apart(whole, whole[_GOAL]) <= 1.0).tolist()
        return self._near

    def _left(self, node: Node) -> float:
        """What the missing parts take if nothing is in the way."""
        missing = set(self.asked) - self._home(node)
        switches = {p for p in missing if self.parts[p].nature == "switch"}
        settling = [self._usual[p] for p in missing - switches]
        joined = any(len(missing & set(jump.parts)) > 1 for jump in self.evidence.joint)
        total = (max(settling) if joined else sum(settling)) if settling else 0.0
        return total + (self._switches.least(switches) if switches else 0.0)

    def state_at(self, node: Node) -> Floats:
        """The state `[D]` that a node stands for."""
        state = self._start.copy()
        for place, value in enumerate(node):
            if value:
                state[self.parts[place].columns] = self.values[place][value]
        return state

    def _expand(self, node: Node) -> Iterator[tuple[Node, Found, float]]:
        state = self.state_at(node)
        for place, part in enumerate(self.parts):
            if part.nature == "settling":
                yield from self._settle(node, state, place)
        for jump in self.evidence.jumps:
            yield from self._jump(node, state, jump)
        for jump in self.evidence.joint:
            yield from self._move_together(node, state, jump)

    def _settle(self, node: Node, state: Floats, place: int) -> Iterator[tuple[Node, Found, float]]:
        part = self.parts[place]
        numbers = [n for n in range(len(self.values[place])) if n not in (0, node[place])]
        if place not in self.asked:
            numbers = [n for n in numbers if n != _GOAL]
        targets = np.repeat(state[None], len(numbers), 0)
        targets[:, part.columns] = np.stack([self.values[place][n] for n in numbers])
        judged = self.evidence.judge(place, state, targets)
        for row in np.flatnonzero(judged.allowed):
            number = numbers[row]
            far, steps = float(judged.far[row]), float(judged.steps[row])
            aside = not (place in self.asked and self._near_goal[place][number])
            found = Found((place,), targets[row], steps, far, int(judged.support[row]), aside)
            yield _set(node, {place: number}), found, self._price(found)

    def _jump(self, node: Node, state: Floats, jump: Jump) -> Iterator[tuple[Node, Found, float]]:
        numbers: dict[int, int] = {}
        for place in jump.parts:
            number = self._other_value(place, node[place])
            if number is None:
                return
            numbers[place] = number
        if self.evidence.against_jump(jump, state) >= 0:
            return
        after = _set(node, numbers)
        aside = not set(jump.parts) & set(self.asked)
        found = Found(jump.parts, self.state_at(after), jump.steps, 0.0, len(jump.moves), aside)
        yield after, found, self._price(found)

    def _other_value(self, place: int, number: int) -> int | None:
        """The other value of a switch that has two; None where it has more."""
        values = self.values[place]
        here = values[number]
        others = [n for n in range(len(values)) if not np.array_equal(values[n], here)]
        if len({values[n].tobytes() for n in others}) != 1:
            return None
        return _GOAL if _GOAL in others else others[0]

    def _move_together(
        self, node: Node, state: Floats, jump: Jump
    ) -> Iterator[tuple[Node, Found, float]]:
        """Parts that move at once, to where all of them are asked to be."""
        places = [place for place in jump.parts if place in self.asked]
        if len(places) < len(jump.parts):
            return
        target = state.copy()
        for place in places:
            target[self.parts[place].columns] = self.values[place][_GOAL]
        far = np.zeros(len(jump.moves), np.float32)
        for place in places:
            part = self.parts[place]
            far = np.maximum(far, part.apart(jump.moves.before, state))
            far = np.maximum(far, part.apart(jump.moves.after, target))
        if far.min() > LIMIT or self.evidence.against_jump(jump, state) >= 0:
            return
        support = int((far <= LIMIT).sum())
        found = Found(jump.parts, target, jump.steps, float(far.min()), support, False)
        yield _set(node, dict.fromkeys(places, _GOAL)), found, self._price(found)

    def _price(self, found: Found) -> float:
        doubt = _DOUBT * max(0.0, found.far - _FREE)
        return found.steps + doubt + self._penalties.of(found.parts, found.state)


def scattered(points: Floats, count: int, seed: int = 0) -> list[int]:
    """Rows of points `[N, m]`, drawn at random, no two of which are within a tolerance or so."""
    chosen: list[int] = []
    for row in np.random.default_rng(seed).permutation(len(points))[: 20 * count].tolist():
        if not chosen or np.linalg.norm(points[chosen] - points[row], axis=-1).min() > _APART:
            chosen.append(row)
        if len(chosen) == count:
            break
    return chosen


def _set(node: Node, numbers: Mapping[int, int]) -> Node:
    return tuple(numbers.get(place, number) for place, number in enumerate(node))


def _trace(came: Mapping[Node, tuple[Node, Found]], node: Node) -> list[Found]:
    chain: list[Found] = []
    while node in came:
        node, found = came[node]
        chain.append(found)
    return chain[::-1]
