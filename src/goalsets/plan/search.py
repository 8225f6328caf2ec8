"""Search: finds a cheap chain of moves that the data supports, by best-first search.

A node gives each part a value: its present value, its goal, or a value that parts of its kind had
in the data, to which something can be moved out of the way. An edge is a move that the evidence
allows. Its price is the number of steps of such moves, and more if the data supports it less. The
remaining cost is estimated by the usual cost of the missing parts if nothing is in the way.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from goalsets.plan.evidence import LIMIT, Compared, Evidence, Judgement, Jump, not_by_chance
from goalsets.plan.found import Distance, Found, Penalties
from goalsets.plan.parts import Floats
from goalsets.plan.places import touches
from goalsets.plan.prices import FREE, Prices
from goalsets.plan.switches import SwitchRule
from goalsets.plan.values import GOAL, candidate_values, other_value

_EAGER = 2.0
"""The weight of the remaining cost against the cost so far. The search is then many times faster,
and the chain costs at most about this many times the cheapest one."""
_MOST = 1_000
"""A search that expands more nodes than this ends without a plan."""

Node = tuple[int, ...]


class Search:
    """Finds chains from one state to one goal.

    Args:
        evidence: Judges which moves are possible.
        state: `[D]`, the current state.
        goal: `[D]`, the goal of the parts that are asked for.
        asked: The numbers of the parts that are asked for.
        penalties: Moves that failed.
        distance: A learner's distance, which prices moves instead of the data.
    """

    def __init__(
        self,
        evidence: Evidence,
        state: Floats,
        goal: Floats,
        asked: Sequence[int],
        penalties: Penalties | None = None,
        distance: Distance | None = None,
    ) -> None:
        """Collect the values that parts may take."""
        self.evidence = evidence
        self.parts = evidence.parts
        self.asked = tuple(asked)
        self._start = state
        # The parts that are at their goals already.
        self._there = {p for p in self.asked if self.parts[p].apart(state, goal) <= 1.0}
        self.prices = Prices(self.parts, penalties or Penalties(), distance)
        self.values = candidate_values(evidence, state, goal, self.asked)
        self._usual = [self._usual_price(place) for place in range(len(self.parts))]
        self._switches = SwitchRule(self.parts, evidence.jumps)
        self._compared: dict[tuple[int, ...], Compared] = {}
        self._odd: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        self._forbidden: dict[tuple[int, int, int], bool] = {}
        self.looked_at = 0

    def _usual_price(self, place: int) -> float:
        """The usual number of steps of a part's move.

        With the smallest number instead, the chain would surely be the cheapest. But prices hardly
        differ, and with the usual number the search finds a good chain directly.
        """
        steps = self.evidence.moves.steps[self.evidence.moves.changed[:, place]]
        return float(np.median(steps)) if len(steps) else 1.0

    def run(self) -> list[Found] | None:
        """A cheap chain; None if there is none."""
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
                return self._counted(_trace(came, node))
            for after, found, price in self._expand(node):
                total = spent + price
                if total < best.get(after, np.inf):
                    best[after] = total
                    came[after] = (node, found)
                    # Of nodes with equal rank, prefer the one with the smallest remaining cost.
                    left = self._left(after)
                    rank = total + _EAGER * left
                    heapq.heappush(frontier, (rank, left, total, next(ticket), after))
        return None

    def _counted(self, chain: list[Found]) -> list[Found]:
        """The same chain, with the number of recorded moves that support each single move."""
        before, counted = self._start, list[Found]()
        for found in chain:
            place = found.parts[0]
            alone = len(found.parts) == 1 and self.parts[place].nature == "settling"
            number = self.evidence.count(place, before, found.state) if alone else found.support
            counted.append(dataclasses.replace(found, support=number))
            before = found.state
        return counted

    @property
    def _first(self) -> Node:
        return (0,) * len(self.parts)

    def _home(self, node: Node) -> set[int]:
        """The parts that are at their goals."""
        return {
            place
            for place in self.asked
            if node[place] == GOAL or (node[place] == 0 and place in self._there)
        }

    def _left(self, node: Node) -> float:
        """The estimated remaining cost: that of the missing parts if nothing is in the way."""
        missing = set(self.asked) - self._home(node)
        switches = {p for p in missing if self.parts[p].nature == "switch"}
        settling = [self._usual[p] for p in missing - switches]
        joined = any(len(missing & set(jump.parts)) > 1 for jump in self.evidence.joint)
        total = (max(settling) if joined else sum(settling)) if settling else 0.0
        return total + (self._switches.least(switches) if switches else 0.0)

    def state_at(self, node: Node) -> Floats:
        """The state `[D]` of a node."""
        state = self._start.copy()
        for place, value in enumerate(node):
            if value:
                state[self.parts[place].columns] = self.values[place][value]
        return state

    def _expand(self, node: Node) -> Iterator[tuple[Node, Found, float]]:
        """All moves that may help: of missing parts, and of parts that are in their way.

        Other parts are not moved, so the search stays small for any number of parts.
        """
        state = self.state_at(node)
        missing = set(self.asked) - self._home(node)
        waiting = [(place, False) for place in sorted(missing)]
        seen: set[tuple[int, bool]] = set()
        flipped: set[int] = set()
        for jump in self.evidence.joint:
            if missing.issuperset(jump.parts):
                found, against = self._move_together(node, state, jump)
                yield from found
                waiting += [(against, True)] if against >= 0 else []
        while waiting:
            place, aside = waiting.pop()
            if (place, aside) in seen:
                continue
            seen.add((place, aside))
            if self.parts[place].nature == "switch":
                jumps = [n for n, j in enumerate(self.evidence.jumps) if place in j.parts]
                for number in jumps:
                    if number not in flipped:
                        flipped.add(number)
                        found, against = self._jump(node, state, self.evidence.jumps[number])
                        yield from found
                        waiting += [(against, True)] if against >= 0 else []
                continue
            moves, more = self._settle(node, state, place, aside=aside)
            yield from moves
            waiting += more

    def _settle(
        self, node: Node, state: Floats, place: int, *, aside: bool
    ) -> tuple[list[tuple[Node, Found, float]], list[tuple[int, bool]]]:
        """Moves of one part, to its goal or aside; and parts that should be moved too."""
        part = self.parts[place]
        numbers = [GOAL] if not aside else list(range(2, len(self.values[place])))
        numbers = [n for n in numbers if n != node[place]]
        if not numbers:
            return [], []
        targets = np.repeat(state[None], len(numbers), 0)
        targets[:, part.columns] = np.stack([self.values[place][n] for n in numbers])
        judged = self._judge(node, state, place, targets, aside=aside)
        prices = self.prices.steps(state, targets, (place,), judged.steps)
        moves: list[tuple[Node, Found, float]] = []
        more = [(int(other), True) for other in np.unique(judged.against) if other >= 0]
        for row, number in enumerate(numbers):
            far, steps = float(judged.far[row]), float(prices[row])
            if judged.allowed[row]:
                found = Found((place,), targets[row], steps, far, 0, aside)
                moves.append((_set(node, {place: number}), found, self.prices.price(found)))
            if not aside and far > FREE:
                more += [(other, True) for other in self._in_the_way(place, state, targets[row])]
                more += [(place, True)] if far > LIMIT else []
        return moves, more

    def _judge(
        self, node: Node, state: Floats, place: int, targets: Floats, *, aside: bool
    ) -> Judgement:
        """As `Evidence.judge`, with a cache: many nodes do not differ in what matters to a move."""
        key = (place, aside, node[place], *(node[other] for other in self.evidence.alike(place)))
        if key not in self._compared:
            self._compared[key] = self.evidence.compare(place, state, targets)
        compared = self._compared[key]
        found = np.full(len(targets), -1)
        for other in self.evidence.circumstances(place):
            told = (*key, -1, other, node[other])
            if told not in self._odd:
                self._odd[told] = self.evidence.is_odd(place, compared.like, other, state)
            found = np.where((found < 0) & self._odd[told], other, found)
        return compared.judged(found)

    def _against(self, node: Node, state: Floats, jump: Jump) -> int:
        """The part whose value forbids a jump, or −1."""
        for other in range(len(self.parts)):
            key = (id(jump), other, node[other])
            if key not in self._forbidden:
                self._forbidden[key] = self.evidence.forbids(jump, other, state)
            if self._forbidden[key]:
                return other
        return -1

    def _in_the_way(self, place: int, state: Floats, target: Floats) -> list[int]:
        """Parts of the same kind at the place of a part, or at its target."""
        return [
            other
            for other in self.evidence.alike(place)
            if touches(self.parts[place], state, self.parts[other], state)
            or touches(self.parts[place], target, self.parts[other], state)
        ]

    def _jump(
        self, node: Node, state: Floats, jump: Jump
    ) -> tuple[list[tuple[Node, Found, float]], int]:
        """A jump of switches, if it is possible; and the part that forbids it, or −1."""
        numbers: dict[int, int] = {}
        for place in jump.parts:
            number = other_value(self.values[place], node[place])
            if number is None:
                return [], -1
            numbers[place] = number
        against = self._against(node, state, jump)
        if against >= 0:
            return [], against
        after = _set(node, numbers)
        aside = not set(jump.parts) & set(self.asked)
        target = self.state_at(after)
        steps = self.prices.steps(state, target[None], jump.parts, np.array([jump.steps]))[0]
        found = Found(jump.parts, target, float(steps), 0.0, len(jump.moves), aside)
        return [(after, found, self.prices.price(found))], -1

    def _move_together(
        self, node: Node, state: Floats, jump: Jump
    ) -> tuple[list[tuple[Node, Found, float]], int]:
        """A joint move of parts to their goals, if it is possible; and the part that forbids it."""
        target = state.copy()
        for place in jump.parts:
            target[self.parts[place].columns] = self.values[place][GOAL]
        far = np.zeros(len(jump.moves), np.float32)
        for place in jump.parts:
            part = self.parts[place]
            far = np.maximum(far, part.apart(jump.moves.before, state))
            far = np.maximum(far, part.apart(jump.moves.after, target))
        witnessed = float(not_by_chance(np.sort(far)[None])[0])
        if witnessed > LIMIT:
            return [], -1
        against = self._against(node, state, jump)
        if against >= 0:
            return [], against
        support = int((far <= LIMIT).sum())
        steps = self.prices.steps(state, target[None], jump.parts, np.array([jump.steps]))[0]
        found = Found(jump.parts, target, float(steps), witnessed, support, False)
        return [(_set(node, dict.fromkeys(jump.parts, GOAL)), found, self.prices.price(found))], -1


def _set(node: Node, numbers: Mapping[int, int]) -> Node:
    return tuple(numbers.get(place, number) for place, number in enumerate(node))


def _trace(came: Mapping[Node, tuple[Node, Found]], node: Node) -> list[Found]:
    chain: list[Found] = []
    while node in came:
        node, found = came[node]
        chain.append(found)
    return chain[::-1]
