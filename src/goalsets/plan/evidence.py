"""Evidence: judges new moves by the recorded moves of the data.

A move is judged by the most similar recorded moves, with two questions. Has a part of this kind
come to rest at such a place? And has one left such a place? A *place* is a part's own value
together with the relative position of the nearest other part of its kind. So a free place, a place
on top of another part and a place inside another part are three different places. Then the
circumstances are compared. A move is forbidden if a switch never had its present value when such
moves were made, or if another part was always at a different place.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from goalsets.plan.moves import Moves
from goalsets.plan.parts import Floats, Part
from goalsets.plan.places import features, features_of_rows, place_of

Places = NDArray[np.int64]

LIMIT = 2.0
"""A move that is farther than this from the nearest recorded moves, in tolerances, is refused."""
_ALIKE = 48
"""The number of recorded moves that a move is compared with."""
_WITNESSES = 3
"""How many recorded moves must be near: a single one may be an accident."""
_ENOUGH = 8
"""With fewer recorded moves, circumstances are not judged."""
_RARE, _COMMON = 0.02, 0.1
"""A switch forbids a move if it had its present value in less than the first share of similar
moves, but in at least the second share of all data."""
_NARROW = 0.35
"""A part counts as a circumstance if its spread in similar moves is below this share of its spread
in all data."""


@dataclass(frozen=True)
class Judgement:
    """The evidence for C moves of one part."""

    steps: Floats
    """`[C]`, how many steps similar moves took."""
    far: Floats
    """`[C]`, the distance to the nearest recorded moves, in tolerances."""
    against: Places
    """`[C]`, the part whose state forbids the move, or −1."""

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Whether each move is allowed, `bool[C]`."""
        return (self.far <= LIMIT) & (self.against < 0)


@dataclass(frozen=True)
class Compared:
    """C moves of one part compared with recorded ones; see `Judgement`."""

    steps: Floats
    far: Floats
    like: Places
    """`[C, k]`, the numbers of the recorded moves that are most similar to each."""

    def judged(self, against: Places) -> Judgement:
        """The judgement, given the parts that forbid moves."""
        return Judgement(self.steps, self.far, against)


class Evidence:
    """Judges moves of settling parts and of switches.

    Args:
        parts: All parts that can move.
        moves: Their recorded moves.
        usual: `[S, D]`, states of the data, drawn at random.
    """

    def __init__(self, parts: Sequence[Part], moves: Moves, usual: Floats) -> None:
        """Keep the moves; tables are computed when they are first needed."""
        self.parts = tuple(parts)
        self.moves = moves
        self._usual = usual
        self._tables: dict[str, _Table | None] = {}
        self._spreads = [
            0.0 if part.nature == "switch" else _spread(part.embed(usual)[None])[0]
            for part in self.parts
        ]

    def alike(self, place: int) -> list[int]:
        """The other parts of a part's kind."""
        kind = self.parts[place].kind
        return [p for p, part in enumerate(self.parts) if kind and part.kind == kind and p != place]

    def judge(self, place: int, state: Floats, targets: Floats) -> Judgement:
        """Judge moves of one part from a state `[D]` to targets `[C, D]`."""
        compared = self.compare(place, state, targets)
        found = np.full(len(targets), -1)
        for other in self.circumstances(place):
            odd = self.is_odd(place, compared.like, other, state)
            found = np.where((found < 0) & odd, other, found)
        return compared.judged(found)

    def compare(self, place: int, state: Floats, targets: Floats) -> Compared:
        """Compare moves with recorded ones, without their circumstances."""
        table = self._table(place)
        count = len(targets)
        if table is None:
            nothing = np.full(count, np.inf, np.float32)
            none = np.zeros((count, 0), np.int64)
            return Compared(nothing, nothing, none)
        part = self.parts[place]
        others = self._others(place, state)
        left, _ = table.like(features(part, state[None], others), table.leave)
        apart, like = table.like(features(part, targets, others))
        far = np.maximum(not_by_chance(apart), not_by_chance(left)[0]).astype(np.float32)
        steps = table.steps[like[:, :16]].mean(1)
        return Compared(steps, far, like)

    def count(self, place: int, state: Floats, target: Floats) -> int:
        """How many recorded moves, from any place, ended within a tolerance of a target `[D]`."""
        table = self._table(place)
        if table is None:
            return 0
        found = features(self.parts[place], target[None], self._others(place, state))
        return int(table.arrive.query_ball_point(found, 1.0, return_length=True)[0])

    def _others(self, place: int, state: Floats) -> Floats:
        """The positions of the other parts of a part's kind, `[O, n]`."""
        return np.stack([state[place_of(self.parts[o])] for o in self.alike(place)] or [_NOBODY])

    def circumstances(self, place: int) -> list[int]:
        """The parts whose state may forbid a move of a part."""
        skipped = {place, *self.alike(place)}
        return [other for other in range(len(self.parts)) if other not in skipped]

    def is_odd(self, place: int, like: Places, other: int, state: Floats) -> NDArray[np.bool_]:
        """Whether another part's value never occurred in the similar moves, `bool[C]`."""
        table = self._table(place)
        if table is None or like.shape[1] < _ENOUGH:
            return np.zeros(len(like), np.bool_)
        return self._is_odd(table.past, like, other, state)

    def _is_odd(self, past: _Past, like: Places, other: int, state: Floats) -> NDArray[np.bool_]:
        """Whether a part's value never occurred in similar moves `[C, k]`: `bool[C]`."""
        part = self.parts[other]
        if part.nature == "switch":
            columns = part.columns
            same = (past.moves.before[:, columns] == state[columns]).all(-1)
            usual = float((self._usual[:, columns] == state[columns]).all(-1).mean())
            return (same[like].mean(1) < _RARE) & (usual >= _COMMON)
        points = past.points(part)
        narrow = _spread(points[like]) < _NARROW * self._spreads[other]
        if not narrow.any():
            return narrow
        apart = np.linalg.norm(points - part.embed(state), axis=-1)
        return narrow & (apart[like].min(1) > 1.0)

    def _table(self, place: int) -> _Table | None:
        part = self.parts[place]
        name = part.kind or part.name
        if name not in self._tables:
            members = [place, *self.alike(place)]
            tables = [self._rows(member) for member in members]
            arrive = np.concatenate([table[0] for table in tables])
            leave = np.concatenate([table[1] for table in tables])
            rows = np.concatenate([table[2] for table in tables])
            moves = self.moves.where(rows)
            self._tables[name] = _Table(arrive, leave, moves) if len(rows) else None
        return self._tables[name]

    def _rows(self, place: int) -> tuple[Floats, Floats, Places]:
        """Places that a part came to and left when it moved alone, and the numbers of those moves.

        Moves that do not change the groups in question are left out. For example, a cube that was
        only turned, when another was put on it, gives no evidence about leaving its place.
        """
        part = self.parts[place]
        went = part.apart(self.moves.before, self.moves.after) > 1
        alone = self.moves.changed.sum(1) == 1
        rows = np.flatnonzero(self.moves.changed[:, place] & alone & went)
        moves = self.moves.where(rows)
        columns = [place_of(self.parts[other]) for other in self.alike(place)]
        found = [
            features_of_rows(part, states, [states[:, c] for c in columns])
            for states in (moves.after, moves.before)
        ]
        return found[0], found[1], rows

    @functools.cached_property
    def jumps(self) -> tuple[Jump, ...]:
        """Sets of switches that often change together."""
        switch = np.array([part.nature == "switch" for part in self.parts])
        rows = np.flatnonzero((self.moves.changed & switch).any(1))
        return self._sets(rows)

    @functools.cached_property
    def joint(self) -> tuple[Jump, ...]:
        """Sets of settling parts of different kinds that often move together."""
        settling = np.array([part.nature == "settling" for part in self.parts])
        moved = self.moves.changed & settling
        found = self._sets(np.flatnonzero(moved.sum(1) > 1))
        names = [[self.parts[p].kind or self.parts[p].name for p in each.parts] for each in found]
        return tuple(
            each for each, kinds in zip(found, names, strict=True) if len(set(kinds)) == len(kinds)
        )

    def _sets(self, rows: Places) -> tuple[Jump, ...]:
        sets: dict[tuple[int, ...], list[int]] = {}
        for row in rows.tolist():
            sets.setdefault(tuple(np.flatnonzero(self.moves.changed[row]).tolist()), []).append(row)
        least = max(5, len(rows) // 200)
        return tuple(
            Jump(parts, self.moves.where(np.array(members)))
            for parts, members in sets.items()
            if len(members) >= least
        )

    def forbids(self, jump: Jump, other: int, state: Floats) -> bool:
        """Whether the value of a part forbids a jump."""
        if other in jump.parts or len(jump.moves) < _ENOUGH:
            return False
        like = np.arange(len(jump.moves))[None]
        return bool(self._is_odd(jump.past, like, other, state)[0])


@dataclass(frozen=True, eq=False)
class Jump:
    """Parts that change together, and their recorded moves."""

    parts: tuple[int, ...]
    moves: Moves

    @functools.cached_property
    def past(self) -> _Past:
        """The circumstances of those moves."""
        return _Past(self.moves)

    @functools.cached_property
    def steps(self) -> float:
        """How many steps it usually takes."""
        return float(np.median(self.moves.steps))


class _Past:
    """The circumstances of some moves."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves
        self._points: dict[str, Floats] = {}

    def points(self, part: Part) -> Floats:
        """The values of a part when the moves began, `[N, m]`."""
        if part.name not in self._points:
            self._points[part.name] = part.embed(self.moves.before)
        return self._points[part.name]


class _Table:
    """Moves of the parts of one kind, in which one part moved alone."""

    def __init__(self, arrive: Floats, leave: Floats, moves: Moves) -> None:
        self.arrive, self.leave = KDTree(arrive), KDTree(leave)
        self.moves, self.past = moves, _Past(moves)
        # Slow moves count as at most twice the median, so that they do not distort a mean.
        self.steps = np.minimum(moves.steps, 2 * np.median(moves.steps))

    def like(self, places: Floats, tree: KDTree | None = None) -> tuple[Floats, Places]:
        """The distances to the nearest recorded places from `[C, m]`, and their rows: `[C, k]`."""
        many = min(_ALIKE, len(self.moves))
        apart, rows = (tree or self.arrive).query(places, k=many)
        return np.reshape(apart, (len(places), many)), np.reshape(rows, (len(places), many))


_NOBODY = np.full(1, np.inf, np.float32)


def not_by_chance(apart: Floats) -> Floats:
    """The distance of the last witness, `[C]`, from sorted distances `[C, k]`."""
    return apart[:, min(_WITNESSES, apart.shape[1]) - 1]


def _spread(points: Floats) -> Floats:
    """The root mean square distance of points `[C, k, m]` from their mean, `[C]`."""
    middle = points.mean(1, keepdims=True)
    return np.sqrt(((points - middle) ** 2).sum(-1).mean(1))
