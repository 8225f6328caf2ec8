"""Planner: what the data shows can be done, and chains of questions made of it.

It is learned from trajectories alone and knows nothing of an environment. It needs no torch, so
that exported policies plan, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from goalsets.core import GoalSet, GoalsetsError, StateLayout
from goalsets.plan.chain import Plan, Step, ask_for
from goalsets.plan.evidence import LIMIT, Evidence
from goalsets.plan.found import Distance, Found, Penalties
from goalsets.plan.moves import Moves, record_moves
from goalsets.plan.parts import Floats, Part, Rows, find_parts
from goalsets.plan.roads import Roads, build_roads
from goalsets.plan.search import Search

_FEWEST = 5
"""Recorded moves that a part needs."""
MOST_MOVES = 4096
"""Recorded moves that are kept."""
USUAL = 1024
"""States of the data that say what is usual."""
REACH = 40
"""Steps from one place of a road map to the next, unless something else is said."""
_KEPT = 16
"""Combinations of groups whose evidence is kept at hand; working it out takes milliseconds."""


@dataclass(frozen=True, eq=False)
class Planner:
    """Makes plans over one layout."""

    layout: StateLayout
    parts: tuple[Part, ...]
    """Those that settle, and switches."""
    moves: Moves
    """What they did in the data."""
    usual: Floats
    """`[S, D]`, states of the data."""
    roads: tuple[Roads, ...] = ()
    """Of parts that roam."""
    reach: int = REACH
    """Steps that a question about a place on a road should take at the most."""
    deviations: Floats | None = None
    """`[D]`, of the data: what is much and what is little. None where nobody knows."""
    data: str = ""
    """The fingerprint of the data that it was learned from; empty where nobody knows."""
    wait: int = 0
    """Steps for which a part that settles is still asked for when it has arrived: for policies that
    have learned what to do then, such as letting go."""
    _evidence: dict[tuple[str, ...], Evidence] = field(
        default_factory=dict[tuple[str, ...], Evidence], repr=False
    )

    @classmethod
    def learn(
        cls,
        layout: StateLayout,
        observations: Floats,
        offsets: Rows,
        *,
        roads: Sequence[str] | None = None,
        reach: int = REACH,
        seed: int = 0,
    ) -> Planner:
        """Learn what can be done from data.

        Args:
            layout: What the coordinates mean.
            observations: `[R, D]`, in observation units.
            offsets: `[E + 1]`, where episodes begin.
            roads: Groups that roam and that get a road map; those of the layout's task unless
                given.
            reach: Steps within which one place of a road map must be reached from another.
            seed: Decides what is kept where there is too much.
        """
        observations = np.asarray(observations, np.float32)
        rng = np.random.default_rng(seed)
        parts = find_parts(layout, observations, offsets)
        movers = tuple(part for part in parts if part.nature != "roaming")
        moves = record_moves(movers, observations, offsets)
        # What rests and never goes elsewhere, such as a velocity, is no part of any plan.
        moving = np.flatnonzero(moves.changed.sum(0) >= _FEWEST)
        movers = tuple(movers[place] for place in moving)
        moves = dataclasses.replace(moves, changed=moves.changed[:, moving])
        moves = moves.where(np.flatnonzero(moves.changed.sum(1)))
        if len(moves) > MOST_MOVES:
            moves = moves.where(np.sort(rng.permutation(len(moves))[:MOST_MOVES]))
        wanted = roads if roads is not None else _task_groups(layout)
        maps = tuple(
            build_roads(part, observations, offsets, reach, seed)
            for part in parts
            if part.nature == "roaming" and part.groups[0].name in wanted
        )
        rows = rng.integers(0, len(observations), min(USUAL, len(observations)))
        return cls(layout, movers, moves, observations[rows], maps, reach, observations.std(0))

    def plan(
        self,
        state: Floats,
        goals: GoalSet,
        penalties: Penalties | None = None,
        distance: Distance | None = None,
    ) -> Plan:
        """A chain of questions from a state `[D]` to a goal set.

        Args:
            state: Where things are.
            goals: What is asked, with one reference.
            penalties: Moves that were tried and did not work out.
            distance: Prices moves by what a learner predicts; by what the data took unless given.
        """
        state = np.asarray(state, np.float32)
        asked = self._asked(goals)
        evidence = self._judge(goals)
        places = [place for place in range(len(self.parts)) if asked[place]]
        steps: list[Step] = []
        reference = np.asarray(goals.reference, np.float32)
        if places:
            search = Search(evidence, state, reference, places, penalties, distance)
            chain = search.run()
            if chain is None:
                return Plan(goals, (), self._why(evidence, state, reference, places))
            steps = [self._step(search, found, goals) for found in chain]
        steps += self._way(state, goals)
        return Plan(goals, tuple(steps))

    def _asked(self, goals: GoalSet) -> list[bool]:
        """Which parts a question is about."""
        wanted = set(goals.query.indices)
        return [bool(wanted.intersection(part.columns.tolist())) for part in self.parts]

    def _judge(self, goals: GoalSet) -> Evidence:
        """Evidence about parts as a question looks at them: only the groups that it asks for."""
        wanted = set(goals.query.indices)
        names = tuple(
            group.name for group in self.layout.groups if wanted.intersection(group.indices)
        )
        found = self._evidence.get(names)
        if found is None:
            parts = [part.only(self._alike(part, names)) or part for part in self.parts]
            found = Evidence(parts, self.moves, self.usual)
            # Strangers may ask a server for any of many combinations, and in several threads.
            for oldest in list(self._evidence)[: 1 - _KEPT]:
                self._evidence.pop(oldest, None)
            self._evidence[names] = found
        return found

    def _alike(self, part: Part, names: Sequence[str]) -> list[str]:
        """The groups of a part that are of a kind with one that is asked for."""
        kinds = {self.layout.by_name[name].kind or name for name in names}
        return [group.name for group in part.groups if (group.kind or group.name) in kinds]

    def _step(self, search: Search, found: Found, goals: GoalSet) -> Step:
        parts = [search.parts[place] for place in found.parts]
        asked = parts
        if len(parts) > 1 and parts[0].nature == "settling":
            # Parts that move together: ask for the one that went there most often.
            moves = search.evidence.moves
            often = [
                int((moves.changed[:, place] & (part.apart(moves.after, found.state) <= 1)).sum())
                for place, part in zip(found.parts, parts, strict=True)
            ]
            asked = [parts[int(np.argmax(often))]]
        question = " & ".join(part.question for part in asked)
        return Step(
            ask_for(question, self._waypoint(search, found), goals),
            tuple(part.name for part in parts),
            found.steps,
            found.far,
            found.support,
            found.aside,
            search.prices.move(found),
        )

    def _waypoint(self, search: Search, found: Found) -> Floats:
        """A whole state `[D]` in which a move is done.

        A policy that hears queries looks only at what is asked. One that is shown more, such as the
        full state, must be shown a state that can be: the robot as it was when a move like this one
        was over, and the other parts as the plan has them by then.
        """
        moves, moved = search.evidence.moves, list(found.parts)
        like = np.flatnonzero(moves.changed[:, moved].all(1))
        apart = [search.parts[place].apart(moves.after[like], found.state) for place in moved]
        nearest = moves.after[like[np.argmin(np.sum(apart, 0))]] if len(like) else found.state
        waypoint = np.array(nearest, np.float32)
        for place, part in enumerate(self.parts):
            columns = search.parts[place].columns if place in moved else part.columns
            waypoint[columns] = found.state[columns]
        return waypoint

    def _way(self, state: Floats, goals: GoalSet) -> list[Step]:
        """The last step of a plan: what roams goes where it should."""
        settled = {i for part in self.parts for i in part.columns.tolist()}
        rest = [i for i in goals.query.indices if i not in settled]
        if not rest or bool(goals.contains(state)):
            return []
        terms = [term for term in goals.query.terms if set(term.indices).issubset(rest)]
        question = " & ".join(term.name for term in terms)
        asked = ask_for(question, np.asarray(goals.reference, np.float32), goals)
        roads = self.roads_of(asked)
        price, far = float(self.reach), 0.0
        if roads is not None:
            way = roads.to(asked.reference)
            price, far = max(way.left(state), 1.0), way.far
        return [Step(asked, tuple(t.name for t in terms), price, far, 0, False)]

    def roads_of(self, goals: GoalSet) -> Roads | None:
        """The road map that a question can be answered by; None where there is none."""
        wanted = set(goals.query.indices)
        for roads in self.roads:
            if wanted & set(roads.part.columns.tolist()):
                return roads
        return None

    def _why(self, evidence: Evidence, state: Floats, goal: Floats, places: Sequence[int]) -> str:
        """Which move is missing, and how near the data comes."""
        reasons: list[str] = []
        for place in places:
            part = evidence.parts[place]
            target = state.copy()
            target[part.columns] = goal[part.columns]
            if part.apart(state, target) <= 1:
                continue
            if part.nature == "switch":
                reasons.append(f"nothing in the data sets {part.question}")
                continue
            judged = evidence.judge(place, state, target[None])
            if judged.far[0] > LIMIT:
                near = float(judged.far[0])
                how = f"the nearest is {near:.1f} tolerances away" if np.isfinite(near) else "none"
                reasons.append(f"no move of {part.name} in the data is like this one ({how})")
            elif judged.against[0] >= 0:
                other = evidence.parts[judged.against[0]].name
                reasons.append(f"{part.name} never moved so while {other} was as it is now")
        return "; ".join(reasons) or "the moves are known one by one, but no order of them works."


def _task_groups(layout: StateLayout) -> list[str]:
    """The groups of the layout's own question."""
    from goalsets.core import Query

    if not layout.task:
        return []
    wanted = set(Query.parse("task", layout).indices)
    return [group.name for group in layout.groups if wanted.intersection(group.indices)]


def check_layout(planner: Planner, layout: StateLayout) -> None:
    """Raise an error unless a planner speaks of the states of a layout."""
    if planner.layout.dim != layout.dim:
        raise GoalsetsError(
            f"the planner is for states of {planner.layout.dim} coordinates, the policy for "
            f"{layout.dim}."
        )
