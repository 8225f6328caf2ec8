"""What all sessions on logs share: episodes, checkpoints, the data, and an optional robot.

Nothing here changes while the server runs.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from goalsets.check.questions import Question
from goalsets.check.run import MOST_STATES, spread
from goalsets.check.support import Supporter
from goalsets.check.words import share
from goalsets.core import GoalSet, GoalsetsError, Query, StateLayout
from goalsets.core.durations import duration
from goalsets.data.bounds import Bounds
from goalsets.data.store import Store
from goalsets.data.tolerances import UsualTolerances
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tasks import TASKS, Task
from goalsets.evaluate import ask
from goalsets.play.logs.goals import LogShelf
from goalsets.play.logs.robot import Robot
from goalsets.play.question import ReadyMade
from goalsets.play.setup import MAX_CHECKPOINTS, Checkpoint, Support, checkpoint_names
from goalsets.play.world import Floats
from goalsets.relabel.units import Rule
from goalsets.runs.run import Run


@dataclass(frozen=True, eq=False)
class LogSetup:
    """Recorded episodes, and checkpoints to ask about them."""

    task: Task
    """A name and a layout; it has no environment."""
    checkpoints: tuple[Checkpoint, ...]
    store: Store
    std: Floats
    """`[D]`, the standard deviations of the training data."""
    bounds: Bounds
    """Bounds of actions."""
    window: int
    """The longest approach, in steps before a visit."""
    robot: Robot | None = None

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        return self.task.layout

    @property
    def rate(self) -> float | None:
        """Steps a second, if known."""
        return self.store.rate

    @property
    def held_out(self) -> bool:
        """Whether the episodes were held out; otherwise they are training episodes."""
        return self.store.validation.num_transitions > 0

    @property
    def data(self) -> Trajectories:
        """The episodes that are shown."""
        return self.store.validation if self.held_out else self.store.train

    @functools.cached_property
    def usual(self) -> UsualTolerances:
        """Tolerances of groups for which the layout has none."""
        return UsualTolerances.of(self.store.train if self.store.train.num_states else self.data)

    @functools.cached_property
    def shelf(self) -> LogShelf:
        """Supplies goals."""
        return LogShelf(self.layout, self.data)

    @functools.cached_property
    def ready(self) -> tuple[ReadyMade, ...]:
        """Questions to pick: the layout's own, its aliases, and all of the state."""
        found = [ReadyMade(alias, text, text) for alias, text in self.layout.aliases.items()]
        if self.layout.task is not None:
            found.insert(0, ReadyMade("task", "task", self.layout.task))
        found.append(ReadyMade("everything", "all", "every coordinate of the state"))
        by_query = {Query.parse(ready.text, self.layout): ready for ready in reversed(found)}
        return tuple(reversed(by_query.values()))

    @functools.cached_property
    def first_question(self) -> str:
        """The first question: the layout's own, or the first group that moves."""
        if self.layout.task is not None:
            return "task"
        moving = [g.name for g in self.layout.groups if self.std[list(g.indices)].max() > 1e-6]
        return moving[0] if moving else "all"

    @functools.cached_property
    def _supporter(self) -> Supporter:
        counted = spread(self.store.train, MOST_STATES)
        every = -(-self.store.train.num_episodes // counted.num_episodes)
        return Supporter(counted, every, Rule(self.layout, self.std), self.window)

    def support(self, goals: GoalSet) -> Support:
        """How much of the training data answers a question, with warnings."""
        if self.store.train.num_transitions == 0:
            return Support("The store has no training episodes.", ())
        question = Question(str(goals.query), goals.query)
        found = self._supporter.look(question, np.asarray(goals.reference)[None], None)
        seen = ask.Support(
            int(found.states),
            found.all_states,
            int(found.episodes),
            found.all_episodes,
            found.nearest[0].tolerances if found.nearest else 1.0,
        )
        text = f"{seen} of the training data answer it"
        text += f", from {found.starts:.0f} different starts." if found.starts else "."
        if found.direct is not None:
            typical = "" if found.steps is None else duration(found.steps[1], self.rate)
            text += f" The data went there {found.visits:.0f} times, {share(found.direct)} directly"
            text += f", typically in {typical}." if typical else "."
        doubts = [
            f"{checkpoint.name}: {doubt}" if len(self.checkpoints) > 1 else doubt
            for checkpoint in self.checkpoints
            for doubt in ask.doubts(goals, checkpoint.policy, seen)
        ]
        if found.nearest:
            near = found.nearest[0]
            terms = ", ".join(f"{name}: {said}" for name, said in near.terms.items())
            doubts.append(
                f"nearest: step {near.step} of training episode {near.episode} ({terms})."
            )
        return Support(text, tuple(dict.fromkeys(doubts)))


def open_logs(
    runs: Sequence[str | Path],
    store: Store,
    *,
    step: int | None = None,
    model: Path | None = None,
    joints: Sequence[str] = (),
) -> LogSetup:
    """Open one checkpoint, or two on the same data to compare, with the episodes of a store.

    Args:
        runs: Run directories.
        store: The data.
        step: A step whose weights were kept; the latest checkpoint unless given.
        model: A model of the robot, to draw it: MJCF (.xml) or URDF.
        joints: Which parts of a state move which joints, if the names differ.
    """
    if not 1 <= len(runs) <= MAX_CHECKPOINTS:
        raise GoalsetsError(f"expected one run, or two to compare, got {len(runs)}.")
    if joints and model is None:
        raise GoalsetsError("--joints is about the joints of a model: give --model, too.")
    opened = [Run.open(run) for run in runs]
    first = opened[0]
    for run in opened:
        _check_fits(run, first, store)
    checkpoints: list[Checkpoint] = []
    for run, name in zip(opened, checkpoint_names(opened), strict=True):
        policy, progress = run.load(step)
        checkpoints.append(Checkpoint(name, policy, run.config, progress.step))
    frame, config = first.frame, first.config
    name = config.task if config.task in TASKS else Path(config.task).name
    robot = None
    if model is not None:
        robot = Robot.load(model, frame.layout, store.trajectories.observations, joints)
    return LogSetup(
        Task(name, "", frame.layout, frame.horizon, frame.horizon),
        tuple(checkpoints),
        store,
        frame.normaliser.state_std,
        frame.bounds,
        config.direct or frame.horizon,
        robot,
    )


def _check_fits(run: Run, first: Run, store: Store) -> None:
    states, actions = store.trajectories.observations, store.trajectories.actions
    if states.shape[1] != run.frame.layout.dim or actions.shape[1] != len(run.frame.bounds.low):
        raise GoalsetsError(
            f"{store.path} has states of {states.shape[1]} coordinates and actions of "
            f"{actions.shape[1]}; {run.path.name} was trained on {run.frame.layout.dim} and "
            f"{len(run.frame.bounds.low)}. Name the store of its data with --data."
        )
    if store.trajectories.num_transitions == 0:
        raise GoalsetsError(f"{store.path} has no episode of one step or more to show.")
    if run.frame.layout != first.frame.layout:
        raise GoalsetsError(
            f"two runs must have one layout, but those of {run.path.name} and {first.path.name} "
            "differ."
        )
