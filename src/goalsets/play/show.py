"""A show: the model behind one tab of the playground.

It has one goal and one question for all stages, a clock, the current episode and earlier ones. All
of it belongs to one thread.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goalsets.core import GoalSet, Query
from goalsets.play.goal import Goal
from goalsets.play.question import Question
from goalsets.play.recording import Recording, Replay
from goalsets.play.setup import Setup
from goalsets.play.stage import Stage, View, predict_along
from goalsets.play.world import Floats, World

MAX_RECORDINGS = 12
SPEEDS: dict[str, float] = {"¼×": 0.25, "½×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0, "max": math.inf}
_SLICE = 1 / 30
"""Seconds of stepping at full speed between two updates of the page."""
_LAG = 0.25
"""Seconds by which the clock may be late; later than that, it skips."""

Ending = Literal["reached", "time is up"]


@dataclass(frozen=True)
class Ghost:
    """The ghost of a pane."""

    goal: Goal
    query: Query
    """The part of the goal that is asked for."""
    met: frozenset[str]
    """The names of the requirements that hold."""


class Show:
    """Runs episodes on command.

    Args:
        setup: What all shows share.
    """

    def __init__(self, setup: Setup) -> None:
        """Build the worlds and start the first episode, with a goal that can be seen."""
        self.setup = setup
        self.question = Question(setup.task.layout, "task")
        self.task_id, self.seed = 1, 0
        shelf = setup.shelf
        self.goal = shelf.held_out(0) if len(shelf.bank) else shelf.official(1, 0)
        self.stages = [Stage(c, World(setup.task)) for c in setup.checkpoints]
        self.playing = False
        self.stop_when_reached = True
        self.endless = False
        self.planning = False
        """Whether stages with a planner are asked one part after another."""
        self.draft: tuple[Goal, Query] | None = None
        """While a person makes a new step: the goal and the question of the plan."""
        self.filter = ""
        """A condition on the held-out states that `another_goal` draws from."""
        self.speed = 1.0
        self.ending: Ending | None = None
        """Why the episode ended by itself."""
        self.recordings: deque[Recording] = deque(maxlen=MAX_RECORDINGS)
        self.replay: Replay | None = None
        """The recording that is shown instead of the live episode."""
        self._running = Recording(0, self.task_id, self.seed)
        self._rng = np.random.default_rng(0)
        self._due = 0.0
        self.start()

    @property
    def goals(self) -> GoalSet:
        """The goal set: goal and question together."""
        return GoalSet(self.goal.state, self.question.query)

    @property
    def steps(self) -> int:
        """Steps of the episode, on the stage that made the most."""
        return max(stage.steps for stage in self.stages)

    @property
    def number(self) -> int:
        """How many episodes have started."""
        return self._running.number

    def start(self, task_id: int | None = None, seed: int | None = None) -> None:
        """Start an episode, from the same start unless told otherwise."""
        self.drop_draft()
        self.task_id = self.task_id if task_id is None else task_id
        self.seed = self.seed if seed is None else seed
        self._close_recording()
        self._running = Recording(self.number + 1, self.task_id, self.seed)
        for stage in self.stages:
            stage.start(self.task_id, self.seed)
        self.ending = None
        self.ask()

    def ask(self) -> None:
        """Ask all stages the current goal and question, also in the middle of an episode.

        While a draft is being made, nothing is asked.
        """
        self.leave()
        if self.draft is not None:
            return
        goals = self.goals
        for stage in self.stages:
            stage.ask(goals, self.planning)
        self._running.cue(self.steps, self.goal, goals)
        self.ending = None

    def set_goal(self, goal: Goal) -> None:
        """Take another goal."""
        self.goal = goal
        self.ask()

    def drop_draft(self) -> None:
        """Go back to the goal and the question of the plan, and to the live episode."""
        self.leave()
        if self.draft is not None:
            (self.goal, self.question.query), self.draft = self.draft, None

    def another_goal(self) -> None:
        """Take a random held-out state that satisfies the filter."""
        rows = self.setup.shelf.rows(self.filter)
        self.set_goal(self.setup.shelf.held_out(int(self._rng.choice(rows))))

    def play(self) -> None:
        """Start time; after an ending, start again or go on beyond the horizon."""
        if self.replay is not None:
            self.replay.moment = 0 if self.replay.over else self.replay.moment
        elif self.ending == "reached":
            self.start()
        self.ending = None
        self.playing = True
        self._due = time.perf_counter()

    def pause(self) -> None:
        """Stop time."""
        self.playing = False

    def step(self) -> None:
        """Do one step on every stage that is not done; in a replay, show the next moment."""
        if self.replay is not None:
            self.replay.moment = min(self.replay.moment + 1, self.replay.recording.length - 1)
            self.playing = self.playing and not self.replay.over
            return
        acting = [stage for stage in self.stages if not self._done(stage)] or self.stages
        for stage in acting:
            stage.step()
        self._end_if_over()

    def push(self) -> None:
        """Disturb every stage in the same way."""
        self.leave()
        seed = int(self._rng.integers(2**31))
        for stage in self.stages:
            stage.push(np.random.default_rng(seed))

    @property
    def wait(self) -> float | None:
        """Seconds until the next step is due; None while paused."""
        if not self.playing:
            return None
        return max(0.0, self._due - time.perf_counter())

    def advance(self) -> None:
        """Do the steps that are due."""
        if math.isinf(self.speed):
            until = time.perf_counter() + _SLICE
            while self.playing and time.perf_counter() < until:
                self.step()
            self._due = time.perf_counter()
            return
        now = time.perf_counter()
        if self.playing and now >= self._due:
            self.step()
            interval = self.stages[0].world.step_seconds / self.speed
            self._due = max(self._due + interval, now - _LAG)

    def snapshot(self) -> list[Recording]:
        """All recordings as they are now; the current one is the last."""
        running = self._running
        self._fill(running)
        return [*self.recordings, *([running] if running.steps else [])]

    def watch(self, recording: Recording) -> None:
        """Show a recording from its start, instead of the live episode."""
        self.replay = Replay(recording)
        self.playing = True
        self._due = time.perf_counter()

    def leave(self) -> None:
        """Go back from a recording to the live episode."""
        if self.replay is not None:
            self.replay = None
            self.playing = False

    @property
    def shown_goal(self) -> Goal:
        """The goal of what is shown; a replay may have had another goal."""
        if self.replay is None:
            return self.goal
        return self.replay.recording.cue_at(self.replay.moment).goal

    def views(self) -> list[View]:
        """The view of each stage, live or replayed."""
        if self.replay is None:
            return [stage.view() for stage in self.stages]
        recording, moment = self.replay.recording, self.replay.moment
        goals, step = recording.cue_at(moment).goals, recording.step_at(moment)
        found: list[View] = []
        for stage, take, reached in zip(
            self.stages, recording.takes, recording.reached, strict=True
        ):
            frame = take[min(moment, len(take) - 1)]
            inside = bool(goals.contains(frame.observation))
            at = reached if reached is not None and reached <= step else None
            chain = recording.chain_at(len(found), moment)
            found.append(View(stage.checkpoint.name, frame, step, goals, inside, at, chain))
        return found

    def ghost(self, view: View) -> Ghost:
        """The ghost of a view: a draft, the current step of a plan, or the whole goal."""
        goal, goals = self.shown_goal, view.goals
        if self.replay is None and self.draft is not None:
            goals = self.goals
        elif view.chain is not None and view.chain.goal is not None and not view.inside:
            assert view.chain.asked is not None
            goal, goals = view.chain.goal, view.chain.asked
        terms = goals.violations(view.frame.observation)
        return Ghost(goal, goals.query, frozenset(t.name for t in terms if bool(t.satisfied)))

    def curves(self, queries: Sequence[Query]) -> list[list[Floats]]:
        """Predicted distances `[T]` of what is shown: for each stage, for each query."""
        if self.replay is None:
            return [[stage.curve(query) for query in queries] for stage in self.stages]
        recording, known = self.replay.recording, self.replay.curves
        goals = recording.cues[-1].goals
        for number, stage in enumerate(self.stages):
            for query in queries:
                if (number, query) not in known:
                    take = recording.takes[number]
                    found = predict_along(stage.checkpoint, take, goals, query)
                    known[number, query] = found
        return [[known[n, query] for query in queries] for n in range(len(self.stages))]

    def close(self) -> None:
        """Free the worlds."""
        for stage in self.stages:
            stage.close()

    def _done(self, stage: Stage) -> bool:
        return self.stop_when_reached and stage.reached_at is not None

    def _end_if_over(self) -> None:
        if all(self._done(stage) for stage in self.stages):
            self.ending = "reached"
        elif self.steps % self.setup.task.horizon == 0:
            self.ending = "time is up"
        else:
            return
        if self.endless and self.playing:
            self.start(self.task_id % len(self.setup.task.goals) + 1, self.seed + 1)
            if len(self.setup.shelf.bank):
                self.another_goal()
        else:
            self.playing = False

    def _fill(self, recording: Recording) -> None:
        recording.close([stage.frames for stage in self.stages], self.steps)
        recording.chains = tuple(tuple(stage.chains) for stage in self.stages)
        recording.reached = tuple(stage.reached_at for stage in self.stages)

    def _close_recording(self) -> None:
        if self.steps:
            self._fill(self._running)
            self.recordings.append(self._running)
