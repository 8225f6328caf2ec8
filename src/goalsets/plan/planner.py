"""Planner: learns from data which moves are possible, and makes chains of questions from them.

It is learned from trajectories only and needs no environment. It does not need torch, so that
exported policies can plan too.
"""

from __future__ import annotations

import dataclasses
import functools
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
from goalsets.plan.touch import robot_groups, telling_groups
from goalsets.plan.turns import early_turns

_FEWEST = 5
"""A part with fewer recorded moves than this is left out."""
MOST_MOVES = 4096
"""The most recorded moves that are kept."""
USUAL = 1024
"""The number of states of the data that are kept to know which values are usual."""
REACH = 40
"""The default number of steps between neighbouring places of a road map."""
_KEPT = 16
"""The number of combinations of groups whose evidence is cached; computing it takes
milliseconds."""


@dataclass(frozen=True, eq=False)
class Planner:
    """Makes plans over one layout."""

    layout: StateLayout
    parts: tuple[Part, ...]
    """The settling parts and the switches."""
    moves: Moves
    """Their recorded moves."""
    usual: Floats
    """`[S, D]`, states of the data."""
    roads: tuple[Roads, ...] = ()
    """The road maps of roaming parts."""
    reach: int = REACH
    """The most steps from one place of a road map to the next."""
    deviations: Floats | None = None
    """`[D]`, the standard deviations of the data; None if unknown."""
    data: str = ""
    """The fingerprint of the data from which it was learned; empty if unknown."""
    wait: int = 0
    """Steps for which a settling part is still asked for after it has arrived, for policies that
    have learned what to do then, such as to release it."""
    early_turns: tuple[str, ...] = ()
    """The headings that the data changes early in a move, by name: see `goalsets.plan.turns`."""
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
        """Learn from data which moves are possible.

        Args:
            layout: The layout of the states.
            observations: `[R, D]`, in observation units.
            offsets: `[E + 1]`, the rows at which episodes begin.
            roads: Roaming groups that get a road map; by default those of the layout's task.
            reach: The most steps from one place of a road map to the next.
            seed: Decides which moves and states are kept if there are too many.
        """
        observations = np.asarray(observations, np.float32)
        rng = np.random.default_rng(seed)
        parts = find_parts(layout, observations, offsets)
        movers = tuple(part for part in parts if part.nature != "roaming")
        moves = record_moves(movers, observations, offsets)
        # Parts that rest and never move elsewhere, such as velocities, are left out.
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
        return cls(
            layout,
            movers,
            moves,
            observations[rows],
            maps,
            reach,
            observations.std(0),
            early_turns=early_turns(movers, observations, offsets),
        )

    def plan(
        self,
        state: Floats,
        goals: GoalSet,
        penalties: Penalties | None = None,
        distance: Distance | None = None,
    ) -> Plan:
        """A chain of questions from a state `[D]` to a goal set.

        Args:
            state: The current state.
            goals: The goal set, with one reference.
            penalties: Moves that were tried and failed.
            distance: A learner's distance, which prices moves; by default the data prices them.
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
        """Which parts a goal set asks for."""
        wanted = set(goals.query.indices)
        return [bool(wanted.intersection(part.columns.tolist())) for part in self.parts]

    def _judge(self, goals: GoalSet) -> Evidence:
        """The evidence for a goal set: parts have only the groups that it asks for."""
        wanted = set(goals.query.indices)
        names = tuple(
            group.name for group in self.layout.groups if wanted.intersection(group.indices)
        )
        found = self._evidence.get(names)
        if found is None:
            parts = [part.only(self._alike(part, names)) or part for part in self.parts]
            found = Evidence(parts, self.moves, self.usual)
            # Limit the cache: clients of a server may ask for any combination, in several threads.
            for oldest in list(self._evidence)[: 1 - _KEPT]:
                self._evidence.pop(oldest, None)
            self._evidence[names] = found
        return found

    def _alike(self, part: Part, names: Sequence[str]) -> list[str]:
        """The groups of a part that have the same kind as one that is asked for."""
        kinds = {self.layout.by_name[name].kind or name for name in names}
        return [group.name for group in part.groups if (group.kind or group.name) in kinds]

    def _step(self, search: Search, found: Found, goals: GoalSet) -> Step:
        parts = [search.parts[place] for place in found.parts]
        asked = parts
        if len(parts) > 1 and parts[0].nature == "settling":
            # Of parts that move together, ask for the one that moved there most often.
            moves = search.evidence.moves
            often = [
                int((moves.changed[:, place] & (part.apart(moves.after, found.state) <= 1)).sum())
                for place, part in zip(found.parts, parts, strict=True)
            ]
            asked = [parts[int(np.argmax(often))]]
        question = " & ".join(part.question for part in asked)
        waypoint, along = self._waypoint(search, found), ()
        if len(parts) > 1 and parts[0].nature == "switch":
            along = telling_groups(search.evidence.moves, found.parts, waypoint, self._robot)
        return Step(
            ask_for(question, waypoint, goals),
            tuple(part.name for part in parts),
            found.steps,
            found.far,
            found.support,
            found.aside,
            search.prices.move(found),
            along,
        )

    @functools.cached_property
    def _robot(self) -> tuple[Part, ...]:
        return robot_groups(self.layout, self.parts)

    def _waypoint(self, search: Search, found: Found) -> Floats:
        """A whole state `[D]` after a move.

        A policy that is conditioned on the query sees only its coordinates. A policy that sees
        more, such as the full state, needs a plausible state: the robot as it was after a similar
        move, and the other parts as the plan has moved them by then.
        """
        moves, moved = search.evidence.moves, list(found.parts)
        like = np.flatnonzero(moves.changed[:, moved].all(1))
        alone = moves.changed[like].sum(1) == len(moved)  # rather than with more parts
        like = like[alone] if alone.any() else like
        apart = [search.parts[place].apart(moves.after[like], found.state) for place in moved]
        nearest = moves.after[like[np.argmin(np.sum(apart, 0))]] if len(like) else found.state
        waypoint = np.array(nearest, np.float32)
        for place, part in enumerate(self.parts):
            columns = search.parts[place].columns if place in moved else part.columns
            waypoint[columns] = found.state[columns]
        return waypoint

    def _way(self, state: Floats, goals: GoalSet) -> list[Step]:
        """The last step of a plan: roaming parts go to their goals."""
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
        """The road map for a goal set; None if there is none."""
        wanted = set(goals.query.indices)
        for roads in self.roads:
            if wanted & set(roads.part.columns.tolist()):
                return roads
        return None

    def _why(self, evidence: Evidence, state: Floats, goal: Floats, places: Sequence[int]) -> str:
        """Which moves are missing, and how near the data comes."""
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
                reasons.append(f"{part.name} never moved like this while {other} was as it is now")
        return "; ".join(reasons) or "each move is known, but no order of the moves works."


def _task_groups(layout: StateLayout) -> list[str]:
    """The groups of the layout's task query."""
    from goalsets.core import Query

    if not layout.task:
        return []
    wanted = set(Query.parse("task", layout).indices)
    return [group.name for group in layout.groups if wanted.intersection(group.indices)]


def check_layout(planner: Planner, layout: StateLayout) -> None:
    """Raise an error unless a planner fits the states of a layout."""
    if planner.layout.dim != layout.dim:
        raise GoalsetsError(
            f"the planner is for states of {planner.layout.dim} coordinates, but the policy is for "
            f"{layout.dim}."
        )
