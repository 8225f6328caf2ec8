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
"""Random steps towards every goal but the first, which gets a whole episode."""
_PICTURE = 64
_ABILITIES = {
    "draw": "draws no state by itself: films and figures show what its environment renders",
    "put": "cannot be put into a state: films show no goal, and the playground is closed to it",
    "push": "cannot be pushed: the playground has no button for it",
    "follow": "nothing follows what is dragged: in the playground, all else stays where it is",
}
"""What a task lacks without a method of its own."""


class Inspection:
    """The checks that need an environment, and another of the same to compare with.

    Args:
        report: Takes what is found.
        world: Is started, stepped and put elsewhere.
        other: Is only started, and drawn.
        seed: Of all starts and random actions.
        judged: Whether the official query can judge.
    """

    def __init__(
        self, report: Report, world: Adapter, other: Adapter, *, seed: int, judged: bool
    ) -> None:
        """Start nothing yet."""
        self.report, self.world, self.other = report, world, other
        self.task, self.seed, self.judged = world.task, seed, judged
        self.rng = np.random.default_rng(seed)
        self.verdicts = Verdicts()

    def run(self) -> None:
        """Check everything; what fails does not keep the rest from being looked at."""
        started: Start | None = None
        with self.report.trying(f"start(1, {self.seed})"):
            started = self.world.start(1, self.seed)
        if started is None or not self.check_states(started):
            return  # nothing below can be right
        self.check_actions()
        with self.report.trying("an episode of random actions"):
            self.check_horizon()
        with self.report.trying("starting again"):
            self.check_seeds(started)
        with self.report.trying("starting the official goals"):
            self.check_goals()
        if self.judged:
            with self.report.trying("looking at states near the goals"):
                self.check_near()
            self.sum_up_verdicts()
        with self.report.trying("put(state)"):
            self.check_put()
        with self.report.trying("step_seconds"):
            self.check_pace()
        self.check_abilities()

    # --- Starts ----------------------------------------------------------------------------------

    def check_states(self, started: Start) -> bool:
        """Observation and goal are states of the layout."""
        good = True
        for name, state in (("the observation", started.observation), ("the goal", started.goal)):
            dim, shape = self.task.layout.dim, list(np.shape(state))
            if shape != [dim]:
                self.report.find(
                    f"{name} has shape {shape}, and layout {self.task.layout.name!r} has {dim} "
                    "coordinates: fix the layout, or let the adapter's observe(raw) choose them."
                )
                good = False
            elif np.asarray(state).dtype != np.float32:
                self.report.find(f"{name} is {np.asarray(state).dtype}; states are float32.")
            elif not np.isfinite(state).all():
                self.report.find(f"{name} is not finite at the start of an episode.")
                good = False
        return good

    def check_seeds(self, first: Start) -> None:
        """The same goal and seed give the same start: in a used environment and in a new one."""
        for world, which in ((self.world, "a used"), (self.other, "another")):
            again = world.start(1, self.seed)
            for name, ours, theirs in zip(("observation", "goal"), first, again, strict=True):
                apart = differing(world, ours, theirs)
                if apart:
                    self.report.find(
                        f"the seed does not decide the {name}: start(1, {self.seed}) in {which} "
                        f"environment differs in {apart}. reset(seed=...) must seed all that is "
                        "drawn; where the environment cannot, the adapter's reset(seed, options)."
                    )
        if not differing(self.world, first.observation, self.world.start(1, self.seed + 1)[0]):
            self.report.remark("another seed gives the same start: episodes of a goal are alike.")

    def check_goals(self) -> None:
        """Every official goal is another question; some random steps are taken towards each."""
        known: dict[bytes, int] = {}
        for number in self.task.goal_numbers:
            started = self.world.start(number, self.seed)
            if not self.check_states(started):
                return
            both = started.observation.tobytes() + started.goal.tobytes()
            if both in known:
                self.report.find(
                    f"official goals {known[both]} and {number} are the same: the environment "
                    "should read options['task_id'] at reset, or goals should name fewer."
                )
            known.setdefault(both, number)
            if number > 1:
                self.roll(number, started.goal, _STEPS)

    # --- Steps -----------------------------------------------------------------------------------

    def check_actions(self) -> None:
        """The environment takes what a policy gives."""
        action = random_action(self.world, self.rng)
        space = self.world.action_space
        if not space.contains(self.world.action(action)):
            self.report.find(
                f"action(values) makes {self.world.action(action)!r} of an action, which the "
                f"environment's action space {space} does not contain."
            )
        bounds, told = self.world.action_bounds, self.task.action_range
        if (
            told is not None
            and bounds is not None
            and not np.allclose(bounds, np.reshape(told, (2, 1)))
        ):
            low, high = (float(bound.flat[0]) for bound in bounds)
            self.report.find(
                f"action_range says {told}, and the environment takes actions from {low:g} to "
                f"{high:g}."
            )
        if bounds is None:
            self.report.remark(f"actions of {space} have no bounds: those of the data count.")

    def check_horizon(self) -> None:
        """An episode lasts as long as the task says."""
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
                f"an episode of random actions was over after {steps} of {self.task.horizon} steps "
                "without success"
            )
            if limit is None:
                self.report.find(f"{text}: the horizon is too long, or the environment too brief.")
            else:
                self.report.remark(f"{text}: the environment ends it for a reason of its own.")

    def roll(self, number: int, goal: Floats, steps: int) -> int:
        """Take random steps; return how many until the environment gave up."""
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
        """Let the official query judge what the environment has judged."""
        if self.judged:
            self.verdicts.judge(number, GoalSet(goal, self.task.query), told)

    def check_near(self) -> None:
        """Near a goal, both sides of success are seen."""
        if not self.world.can("put"):
            return
        for number in self.task.goal_numbers:
            goal = self.world.start(number, self.seed).goal
            for state in near(goal, self.task.query, self.rng):
                self.world.put(state)
                told = self.world.step(resting_action(self.world, self.rng))
                self.judge(number, goal, told)

    def sum_up_verdicts(self) -> None:
        """Say how the environment's success and the official query agree."""
        found, query = self.verdicts, self.task.layout.task
        if found.wrong:
            self.report.find(
                f"success and the official query '{query}' disagree on {len(found.wrong)} of "
                f"{found.states} states ({found.wrong[0]}): look at the groups, units and "
                "tolerances of the layout."
            )
        if found.close:
            self.report.remark(
                f"near the border of a tolerance, success and '{query}' disagree on {found.close} "
                f"of {found.states} states."
            )
        if found.silent:
            self.report.remark(
                "info says neither 'success' nor 'is_success': the official query judges alone."
            )
        elif not found.reached:
            self.report.remark(
                "no visited state was a success: that success and query agree is shown for "
                "failures only."
            )

    # --- What else it can do ---------------------------------------------------------------------

    def check_put(self) -> None:
        """A state that was observed can be put back, at least what the official query asks for."""
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
            self.report.remark(f"whether put(state) works is unknown: {error}")
            return
        asked = {term.name for term in self.task.query.terms} if self.judged else set[str]()
        if lost := [name for name in changed if name in asked]:
            self.report.find(
                f"put(state) does not bring back {', '.join(lost)}: what the official query asks "
                "for is elsewhere when one looks again."
            )
        if others := [name for name in changed if name not in asked]:
            self.report.remark(f"put(state) does not bring back {', '.join(others)}.")

    def check_pace(self) -> None:
        """A step takes some time."""
        if (seconds := self.world.step_seconds) is None:
            self.report.remark("how long a step takes is unknown: step_seconds of the adapter.")
        elif not seconds > 0:
            self.report.find(f"step_seconds must be above 0, got {seconds}.")

    def check_abilities(self) -> None:
        """What is not offered is said."""
        for method, text in _ABILITIES.items():
            if not self.world.can(method):
                self.report.remark(text)
        if self.world.can("push") and self.world.pushes is None:
            self.report.find("the adapter can push, but does not say what: give it pushes.")
        try:
            self.other.start(1, self.seed)
            picture = np.asarray(self.other.render(_PICTURE))
        except Exception as error:  # also a machine without OpenGL
            self.report.remark(f"it could not be drawn here: {error or type(error).__name__}")
            return
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8:
            self.report.find(
                f"render(size) gives {picture.dtype}{list(picture.shape)}, expected uint8[H, W, 3]."
            )
