"""A stage: one checkpoint in one world, with its current question."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from goalsets.core import GoalSet, Query, Violation
from goalsets.evaluate.ask import predict
from goalsets.play.course import Chain, Course
from goalsets.play.setup import Checkpoint
from goalsets.play.world import Floats, Frame, World

MAX_FRAMES = 2_000
"""Moments of an episode to keep, so that an endless one does not fill memory."""


@dataclass(frozen=True)
class View:
    """One moment on one stage, and the status of the question."""

    name: str
    """The name of the checkpoint."""
    frame: Frame
    step: int
    goals: GoalSet
    inside: bool
    """Whether the moment's state belongs to the goal set."""
    reached_at: int | None
    """The first step in the goal set since it was asked for."""
    chain: Chain | None = None
    """The current plan; None if the question is asked at once."""

    def violations(self) -> tuple[Violation, ...]:
        """The distance and the tolerance of each requirement."""
        return self.goals.violations(self.frame.observation)


class Stage:
    """Acts, judges success, and records.

    Args:
        checkpoint: The checkpoint that acts.
        world: The world; `start` starts it.
    """

    def __init__(self, checkpoint: Checkpoint, world: World) -> None:
        """Nothing has started yet."""
        self.checkpoint = checkpoint
        self.world = world
        self.frames: deque[Frame] = deque(maxlen=MAX_FRAMES)
        self.steps = 0
        self.goals: GoalSet | None = None
        self.inside = False
        """Whether the present state belongs to the goal set."""
        self.reached_at: int | None = None
        """The first step in the goal set since it was asked for; latched."""
        self.course: Course | None = None
        """The progress along a plan; None if the question is asked at once."""
        self.chains: deque[tuple[int, Chain | None]] = deque(maxlen=MAX_FRAMES)
        """The plans of the episode with their first steps; None if all was asked at once."""
        self._curves: dict[Query, deque[float]] = {}
        self._rng = np.random.default_rng(0)
        self._memory = checkpoint.policy.reset()

    def start(self, task_id: int, seed: int) -> None:
        """Start an episode with the same question. A world that cannot start is built again."""
        try:
            self.world.start(task_id, seed)
        except Exception:  # a simulator may break in any way, and must not stay broken
            self.world = World(self.world.task)
            self.world.start(task_id, seed)
        self.frames.clear()
        self.frames.append(self.world.frame())
        self.steps = 0
        self._rng = np.random.default_rng(seed)
        self._memory = self.checkpoint.policy.reset()
        self.chains.clear()
        self._forget()

    def ask(self, goals: GoalSet, plan: bool = False) -> None:
        """Ask a new question; earlier successes do not count for it.

        Args:
            goals: The question.
            plan: Whether to follow a plan, if there is a planner.
        """
        self.goals, self.course = goals, None
        self._forget()
        planner = self.checkpoint.planner
        if plan and planner is not None:
            memory = self.checkpoint.policy.reset()
            self.course = Course(planner, self.world.observation, goals, memory)
        elif self.chains:
            self.chains.append((self.steps, None))

    def step(self) -> None:
        """Let the policy act once, and judge the new state."""
        assert self.goals is not None
        self.world.step(self._act(self.goals))
        self.steps += 1
        self.frames.append(self.world.frame())
        self._judge()
        for query, curve in self._curves.items():
            curve.extend(predict_along(self.checkpoint, [self.frames[-1]], self.goals, query))

    def _act(self, goals: GoalSet) -> Floats:
        seen, act = self.world.observation, self.checkpoint.policy.act
        if self.course is None:
            return act(seen, goals.reference, goals.query, rng=self._rng, memory=self._memory)
        reference, mask = self.course.question(seen)
        action = act(seen, reference, mask, rng=self._rng, memory=self.course.memory)
        action = self.course.shaken(action, seen)
        chain = self.course.chain()
        if not self.chains or self.chains[-1][1] is not chain:
            self.chains.append((self.steps, chain))
        return action

    def push(self, rng: np.random.Generator) -> None:
        """Disturb the world, as part of the episode."""
        self.world.push(rng)

    def view(self) -> View:
        """The current moment."""
        assert self.goals is not None
        return View(
            self.checkpoint.name,
            self.frames[-1],
            self.steps,
            self.goals,
            self.inside,
            self.reached_at,
            self.course.chain() if self.course else None,
        )

    def curve(self, query: Query) -> np.ndarray:
        """Predicted distances `[T + 1]` of the episode so far, under any query; kept up to date."""
        if query not in self._curves:
            assert self.goals is not None
            found = predict_along(self.checkpoint, self.frames, self.goals, query)
            self._curves[query] = deque(found, maxlen=MAX_FRAMES)
        return np.array(self._curves[query])

    def keep_curves(self, queries: set[Query]) -> None:
        """Forget the curves of all other queries."""
        self._curves = {q: curve for q, curve in self._curves.items() if q in queries}

    def close(self) -> None:
        """Free the world."""
        self.world.close()

    def _forget(self) -> None:
        self._curves.clear()
        self.reached_at = None
        if self.goals is not None and self.frames:
            self._judge()

    def _judge(self) -> None:
        assert self.goals is not None
        self.inside = bool(self.goals.contains(self.world.observation))
        if self.inside and self.reached_at is None:
            self.reached_at = self.steps


def predict_along(
    checkpoint: Checkpoint, frames: Iterable[Frame], goals: GoalSet, query: Query
) -> Floats:
    """Distances `[T]` that a checkpoint predicts to a goal set's reference, under any query."""
    seen = np.stack([frame.observation for frame in frames])
    found = predict(checkpoint.policy, seen, GoalSet(goals.reference, query))
    return np.full(len(seen), np.nan, dtype=np.float32) if found is None else found
