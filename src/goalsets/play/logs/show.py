"""A show of logs: the model behind one tab.

It has an episode and a step in it, a goal, a question, a clock, and what the policies say along the
episode. All of it belongs to one thread.
"""

from __future__ import annotations

import math
import time

import numpy as np

from goalsets.core import Episode, GoalSet, GoalsetsError
from goalsets.play.goal import Goal
from goalsets.play.logs.along import Along, look_along
from goalsets.play.logs.goals import LogQuestion
from goalsets.play.logs.setup import LogSetup
from goalsets.play.world import Floats

_UNKNOWN_RATE = 20.0
"""Steps to show a second if the store has no rate."""
_SLICE = 1 / 30
"""Seconds between two updates of the page, at full speed."""


class LogShow:
    """Shows recorded episodes on command.

    Args:
        setup: What all shows share.
    """

    def __init__(self, setup: LogSetup) -> None:
        """Show the first episode, with its last state as the goal."""
        self.setup = setup
        self.question = LogQuestion(setup.layout, setup.first_question, setup.usual)
        self.episode_number = 0
        self.step = 0
        self.playing = False
        self.speed = 1.0
        self.number = 0
        """How often another episode was chosen."""
        self._goal_at: tuple[int, int] | None = None
        """The episode and the step of the goal; None for a goal that was edited."""
        self._follows = True
        """Whether the goal changes to the new episode's end when another episode is chosen."""
        self._episode = setup.data.episode(0)
        self._rng = np.random.default_rng(0)
        self._due = 0.0
        self.goal: Goal
        self.along: Along
        self.take_end()

    @property
    def episode(self) -> Episode:
        """The episode that is shown."""
        return self._episode

    @property
    def last(self) -> int:
        """The last step of the episode."""
        return len(self._episode)

    @property
    def state(self) -> Floats:
        """`[D]`, the state at the current step."""
        return np.asarray(self._episode.observations[self.step])

    @property
    def goals(self) -> GoalSet:
        """The goal set: goal and question together."""
        return GoalSet(self.goal.state, self.question.query)

    @property
    def goal_step(self) -> int | None:
        """If the goal is a state of this episode, its step; otherwise None."""
        at = self._goal_at
        return at[1] if at is not None and at[0] == self.episode_number else None

    @property
    def met(self) -> frozenset[str]:
        """The names of the requirements that hold at the present step."""
        return frozenset(term.name for term in self.along.terms if bool(term.met[self.step]))

    # --- What is asked ------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask the present question along the episode."""
        policies = [checkpoint.policy for checkpoint in self.setup.checkpoints]
        self.along = look_along(self._episode, self.goals, policies, self.goal_step)

    def take_end(self) -> None:
        """Take the last state of this episode as the goal."""
        self.take_step(self.last)

    def take_step(self, step: int) -> None:
        """Take the state at a step of this episode as the goal."""
        goal = self.setup.shelf.step(self.episode_number, step)
        self._set_goal(goal, (self.episode_number, step), follows=True)

    def take_held_out(self, text: str) -> None:
        """Take a held-out state by its number or by a condition."""
        self._take_row(self.setup.shelf.row(text))

    def take_another(self) -> None:
        """Take any held-out state."""
        self._take_row(int(self._rng.integers(self.setup.data.num_states)))

    def edit_goal(self, text: str) -> None:
        """Change numbers of the goal."""
        self._set_goal(self.setup.shelf.edit(self.goal, text), None)

    def _take_row(self, row: int) -> None:
        shelf = self.setup.shelf
        self._set_goal(shelf.held_out(row), shelf.locate(row))

    def _set_goal(self, goal: Goal, at: tuple[int, int] | None, *, follows: bool = False) -> None:
        self.goal, self._goal_at, self._follows = goal, at, follows
        self.ask()

    # --- Time ---------------------------------------------------------------------------------

    def choose(self, episode: int) -> None:
        """Show another episode from its start; a goal of the old one is replaced by its end."""
        if not 0 <= episode < self.setup.data.num_episodes:
            raise GoalsetsError(
                f"there are {self.setup.data.num_episodes} episodes, counted from 0; got {episode}."
            )
        self._episode = self.setup.data.episode(episode)
        self.episode_number, self.step = episode, 0
        self.number += 1
        if self._follows:
            self.take_end()
        else:
            self.ask()

    def seek(self, step: int) -> None:
        """Go to a step."""
        self.step = min(max(0, step), self.last)

    def play(self) -> None:
        """Start time; from the first step if the episode was over."""
        if self.step >= self.last:
            self.step = 0
        self.playing = True
        self._due = time.perf_counter()

    def pause(self) -> None:
        """Stop time."""
        self.playing = False

    @property
    def wait(self) -> float | None:
        """Seconds until the next step is due; None while paused."""
        return max(0.0, self._due - time.perf_counter()) if self.playing else None

    @property
    def _interval(self) -> float:
        if math.isinf(self.speed):
            return 0.0
        return 1.0 / ((self.setup.rate or _UNKNOWN_RATE) * self.speed)

    def advance(self) -> None:
        """Show the step that is due by now; skip steps that came too fast to be seen."""
        now = time.perf_counter()
        if not self.playing or now < self._due:
            return
        interval = self._interval
        late = 1 if interval == 0 else 1 + int((now - self._due) / interval)
        self.step = min(self.step + late, self.last)
        self._due = max(self._due + late * interval, now + (_SLICE if interval == 0 else 0.0))
        self.playing = self.step < self.last

    def close(self) -> None:
        """Do nothing: there is nothing to free."""
