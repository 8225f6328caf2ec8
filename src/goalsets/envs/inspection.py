"""The parts of `goalsets.check_task` that need an environment."""

from __future__ import annotations

import numpy as np

from goalsets.core import GoalSet
from goalsets.envs.adapter import Adapter, CannotError, Floats, Start, Stepped
from goalsets.envs.findings import Report
from goalsets.envs.visits import (
    Verdicts,
    changed_groups,
    differing,
    near,
    random_action,
    resting_action,
)

_STEPS = 30
"""Random steps for every goal except the first, which gets a whole episode."""
_PICTURE = 64
_ABILITIES = {
    "draw": "cannot draw a given state: films and figures show what its environment renders",
    "put": "cannot be set to a state: films show no goal, and the playground cannot show the task",
    "push": "cannot be pushed: the playground has no button for it",
    "follow": "nothing follows a dragged object: in the playground, everything else stays in place",
}
"""The consequence if a task's adapter does not define a method."""


class Inspection:
    """The checks that need an environment, and a second one to compare with.

    Args:
        report: Receives the findings and remarks.
        world: The environment that is started, stepped and set to states.
        other: The second environment, which is only started and drawn.
        seed: The seed of all starts and random actions.
        judged: Whether the official query can judge states.
    """

    def __init__(
        self, report: Report, world: Adapter, other: Adapter, *, seed: int, judged: bool
    ) -> None:
        """Prepare without starting an environment."""
        self.report, self.world, self.other = report, world, other
        self.task, self.seed, self.judged = world.task, seed, judged
        self.rng = np.random.default_rng(seed)
        self.verdicts = Verdicts()

    def run(self) -> None:
        """Run all checks; a check that fails does not stop the others."""
        started: Start | None = None
        with self.report.trying(f"start(1, {self.seed})"):
            started = self.world.start(1, self.seed)
        if started is None or not self.check_states(started):
            return  # the other checks need a valid start
        self.check_actions()
        with self.report.trying("an episode of random actions"):
            self.check_horizon()
        with self.report.trying("starting again"):
            self.check_seeds(started)
        with self.report.trying("starting the official goals"):
            self.check_goals()
        if self.judged:
            with self.report.trying("checking states near the goals"):
                self.check_near()
            self.sum_up_verdicts()
        with self.report.trying("put(state)"):
            self.check_put()
        with self.report.trying("step_seconds"):
            self.check_pace()
        self.check_abilities()

    # --- Starts ----------------------------------------------------------------------------------

    def check_states(self, started: Start) -> bool:
        """Check that the observation and the goal are states of the layout."""
        good = True
        for name, state in (("the observation", started.observation), ("the goal", started.goal)):
            dim, shape = self.task.layout.dim, list(np.shape(state))
            if shape != [dim]:
                self.report.find(
                    f"{name} has shape {shape}, but layout {self.task.layout.name!r} has {dim} "
                    "coordinates: fix the layout, or select them in the adapter's observe(raw)."
                )
                good = False
            elif np.asarray(state).dtype != np.float32:
                self.report.find(f"{name} is {np.asarray(state).dtype}; states must be float32.")
            elif not np.isfinite(state).all():
                self.report.find(f"{name} is not finite at the start of an episode.")
                good = False
        return good

    def check_seeds(self, first: Start) -> None:
        """Check that a goal and a seed give the same start, in a used environment and a new one."""
        for world, which in ((self.world, "a used"), (self.other, "another")):
            again = world.start(1, self.seed)
            for name, ours, theirs in zip(("observation", "goal"), first, again, strict=True):
                apart = differing(world, ours, theirs)
                if apart:
                    self.report.find(
                        f"the {name} does not depend on the seed alone: start(1, {self.seed}) in "
                        f"{which} environment differs in {apart}. reset(seed=...) must seed all "
                        "random numbers, in the environment or in the adapter's "
                        "reset(seed, options)."
                    )
        if not differing(self.world, first.observation, self.world.start(1, self.seed + 1)[0]):
            self.report.remark(
                "another seed gives the same start: all episodes of a goal are equal."
            )

    def check_goals(self) -> None:
        """Check that official goals differ; take some random steps in an episode of each."""
        known: dict[bytes, int] = {}
        for number in self.task.goal_numbers:
            started = self.world.start(number, self.seed)
            if not self.check_states(started):
                return
            both = started.observation.tobytes() + started.goal.tobytes()
            if both in known:
                self.report.find(
                    f"official goals {known[both]} and {number} are the same: the environment "
                    "must read options['task_id'] at reset, or the task must list fewer goals."
                )
            known.setdefault(both, number)
            if number > 1:
                self.roll(number, started.goal, _STEPS)

    # --- Steps -----------------------------------------------------------------------------------

    def check_actions(self) -> None:
        """Check that the environment accepts the actions of a policy."""
        action = random_action(self.world, self.rng)
        space = self.world.action_space
        if not space.contains(self.world.action(action)):
            self.report.find(
                f"action(values) returns {self.world.action(action)!r}, which is not in the "
                f"environment's action space {space}."
            )
        bounds, told = self.world.action_bounds, self.task.action_range
        if (
            told is not None
            and bounds is not None
            and not np.allclose(bounds, np.reshape(told, (2, 1)))
        ):
            low, high = (float(bound.flat[0]) for bound in bounds)
            self.report.find(
                f"action_range is {told}, but the environment accepts actions from {low:g} to "
                f"{high:g}."
            )
        if bounds is None:
            self.report.remark(f"actions of {space} have no bounds: the data gives them.")

    def check_horizon(self) -> None:
        """Check that an episode lasts as long as the task's horizon."""
        limit = getattr(self.world.env.spec, "max_episode_steps", None)
        if limit is not None and limit < self.task.horizon:
            self.report.find(
                f"the environment ends episodes after {limit} steps, before the task's horizon of "
                f"{self.task.horizon}."
            )
            return
        goal = self.world.start(1, self.seed).goal
        steps = self.roll(1, goal, self.task.horizon)
        if steps < self.task.horizon:
            text = (
                f"an episode of random actions ended after {steps} of {self.task.horizon} steps "
                "without success"
            )
            if limit is None:
                self.report.find(f"{text}: shorten the horizon, or lengthen the episodes.")
            else:
                self.report.remark(f"{text}: the environment may end episodes early.")

    def roll(self, number: int, goal: Floats, steps: int) -> int:
        """Take random steps; return how many until the environment ended without success."""
        for step in range(steps):
            told = self.world.step(random_action(self.world, self.rng))
            if not np.isfinite(told.observation).all():
                self.report.find(f"the observation is not finite after {step + 1} random steps.")
                return steps
            self.judge(number, goal, told)
            if told.over:
                return steps if told.success else step + 1
        return steps

    def judge(self, number: int, goal: Floats, told: Stepped) -> None:
        """Compare the official query's verdict with that of the environment."""
        if self.judged:
            self.verdicts.judge(number, GoalSet(goal, self.task.query), told)

    def check_near(self) -> None:
        """Compare verdicts at states near the goals, where both success and failure occur."""
        if not self.world.can("put"):
            return
        for number in self.task.goal_numbers:
            goal = self.world.start(number, self.seed).goal
            for state in near(goal, self.task.query, self.rng):
                self.world.put(state)
                told = self.world.step(resting_action(self.world, self.rng))
                self.judge(number, goal, told)

    def sum_up_verdicts(self) -> None:
        """Report whether the environment's success and the official query agree."""
        found, query = self.verdicts, self.task.layout.task
        if found.wrong:
            self.report.find(
                f"success and the official query '{query}' disagree on {len(found.wrong)} of "
                f"{found.states} states ({found.wrong[0]}): check the groups, units and "
                "tolerances of the layout."
            )
        if found.close:
            self.report.remark(
                f"near the border of a tolerance, success and '{query}' disagree on {found.close} "
                f"of {found.states} states."
            )
        if found.silent:
            self.report.remark(
                "info has neither 'success' nor 'is_success': only the official query judges."
            )
        elif not found.reached:
            self.report.remark(
                "no visited state was a success: the agreement of success and query was checked "
                "for failures only."
            )

    # --- Optional methods ------------------------------------------------------------------------

    def check_put(self) -> None:
        """Check that put(state) restores the coordinates of the official query."""
        if not self.world.can("put"):
            return
        self.world.start(1, self.seed)
        for _ in range(_STEPS):
            self.world.step(random_action(self.world, self.rng))
        visited = self.world.observation
        self.world.start(len(self.task.goals), self.seed + 1)
        self.world.put(visited)
        try:
            changed = changed_groups(self.world, visited, self.world.look())
        except CannotError as error:
            self.report.remark(f"put(state) could not be checked: {error}")
            return
        asked = {term.name for term in self.task.query.terms} if self.judged else set[str]()
        if lost := [name for name in changed if name in asked]:
            self.report.find(
                f"put(state) does not restore {', '.join(lost)}, which the official query asks "
                "for: it has another value when it is observed again."
            )
        if others := [name for name in changed if name not in asked]:
            self.report.remark(f"put(state) does not restore {', '.join(others)}.")

    def check_pace(self) -> None:
        """Check the duration of a step."""
        if (seconds := self.world.step_seconds) is None:
            self.report.remark(
                "the duration of a step is unknown: define the adapter's step_seconds."
            )
        elif not seconds > 0:
            self.report.find(f"step_seconds must be above 0, got {seconds}.")

    def check_abilities(self) -> None:
        """Report which features are not available."""
        for method, text in _ABILITIES.items():
            if not self.world.can(method):
                self.report.remark(text)
        if self.world.can("push") and self.world.pushes is None:
            self.report.find("the adapter has push, but not pushes: define what is pushed.")
        try:
            self.other.start(1, self.seed)
            picture = np.asarray(self.other.render(_PICTURE))
        except Exception as error:  # also a machine without OpenGL
            self.report.remark(f"it could not be drawn here: {error or type(error).__name__}")
            return
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
            self.report.find(
                f"render(size) must return uint8[H, W, 3], got "
                f"{picture.dtype}{list(picture.shape)}."
            )
