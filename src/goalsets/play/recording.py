"""Recordings: what happened in an episode, to see again and to film."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from goalsets.core import GoalSet, Query
from goalsets.play.course import Chain
from goalsets.play.goal import Goal
from goalsets.play.world import Floats, Frame

Chains = Sequence[tuple[int, Chain | None]]
"""Plans with the step since which each is followed; None means that all was asked at once."""

_WIDTH = 34
"""Characters of a title that a list has room for."""


@dataclass(frozen=True)
class Cue:
    """A question, and the step from which on it was asked."""

    step: int
    goal: Goal
    goals: GoalSet


@dataclass
class Recording:
    """One episode on every stage."""

    number: int
    task_id: int
    seed: int
    cues: list[Cue] = field(default_factory=list[Cue])
    """In order; questions that were replaced before a step was made are left out."""
    takes: tuple[tuple[Frame, ...], ...] = ()
    """The last moments on each stage, in order."""
    steps: int = 0
    reached: tuple[int | None, ...] = ()
    """When each stage reached the last goal set."""
    chains: tuple[Chains, ...] = ()
    """The plans of each stage; empty if all was asked at once."""

    def cue(self, step: int, goal: Goal, goals: GoalSet) -> None:
        """Note what is asked from a step on."""
        self.cues = [cue for cue in self.cues if cue.step < step]
        self.cues.append(Cue(step, goal, goals))

    def close(self, takes: Sequence[Sequence[Frame]], steps: int) -> None:
        """Keep the moments."""
        self.takes = tuple(tuple(take) for take in takes)
        self.steps = steps

    @property
    def length(self) -> int:
        """The number of moments in the longest take."""
        return max((len(take) for take in self.takes), default=0)

    def cue_at(self, moment: int) -> Cue:
        """The question at a moment of the takes; the first moment may not be step 0."""
        step = self.step_at(moment)
        return [cue for cue in self.cues if cue.step <= step or cue is self.cues[0]][-1]

    def chain_at(self, stage: int, moment: int) -> Chain | None:
        """The plan of a stage at a moment of the takes."""
        step = self.step_at(moment)
        found = [chain for since, chain in self.chains[stage] if since <= step]
        return found[-1] if found else None

    def step_at(self, moment: int) -> int:
        """The step of a moment of the takes."""
        return max(self.steps + 1 - self.length, 0) + moment

    def title(self) -> str:
        """Such as `#3 reached at 41: block0_pos`; a long question is given by its size."""
        query = self.cues[-1].goals.query
        asked = str(query)
        if "[" in asked:  # the names of groups say more than coordinates
            asked = " & ".join(term.name for term in query.terms)
        ends = [f"reached at {r}" if r is not None else "not reached" for r in self.reached]
        ended = f"#{self.number} {' / '.join(ends)}"
        ways = (f"{ended}: {asked}", f"{ended}: {len(query.terms)} parts")
        return next((way for way in ways if len(way) <= _WIDTH), ended)


@dataclass
class Replay:
    """A recording that is shown again, at some moment."""

    recording: Recording
    moment: int = 0
    curves: dict[tuple[int, Query], Floats] = field(
        default_factory=dict["tuple[int, Query]", Floats]
    )
    """Predicted distances by stage and query, once they were needed."""

    @property
    def over(self) -> bool:
        """Whether the last moment is shown."""
        return self.moment >= self.recording.length - 1
