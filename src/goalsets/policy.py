"""TrainedPolicy: a trained learner that answers questions.

The query is an argument of every call. It is never a part of the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.acting import Memory
from goalsets.core.inputs import Asked, InputReader, QueryLike
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.store import Store
from goalsets.learners import Learner
from goalsets.workers import silence

if TYPE_CHECKING:
    from goalsets.plan import Planner, PlanningPolicy
    from goalsets.plan.policy import Prices

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]


class PlannerSource(Protocol):
    """Returns the planner of a policy."""

    def __call__(
        self, store: Store | str | Path | None = None, *, say: Callable[[str], None] = silence
    ) -> Planner:
        """Read the planner, or learn it from a store."""
        ...


class TrainedPolicy:
    """A trained learner as a `goalsets.core.acting.Policy`.

    Args:
        learner: The trained learner; it is put into evaluation mode.
        layout: The layout of the states.
        normaliser: The normaliser of the training data.
        bounds: The bounds of actions; by default ±1.
        planner: Returns its planner; None for a policy without a run directory.
    """

    def __init__(
        self,
        learner: Learner,
        layout: StateLayout,
        normaliser: Normaliser,
        bounds: Bounds | None = None,
        planner: PlannerSource | None = None,
    ) -> None:
        """Prepare to act."""
        learner.prepare()
        self.learner = learner
        self.layout = layout
        self.bounds: Bounds = bounds or Bounds.plus_minus_one(len(normaliser.action_mean))
        self._normaliser = normaliser
        self._planner = planner
        self._reader = InputReader(layout)

    @property
    def answers(self) -> str:
        """Which questions it answers, as text for people."""
        return self.learner.conditioner.answers

    @property
    def distance_unit(self) -> str | None:
        """The unit of its distance; None if it learns no distance."""
        return self.learner.distance_unit

    def hears(self, query: QueryLike) -> Masks:
        """Which coordinates of a goal the policy sees under this query: `[D]` or `[B, D]`."""
        return self.learner.conditioner.heard(self._reader.mask(query))

    def reset(self) -> Memory | None:
        """A memory for a new episode; None for learners that need none."""
        return self.learner.reset()

    def act(
        self,
        observation: ArrayLike,
        goal: ArrayLike,
        query: QueryLike,
        *,
        rng: np.random.Generator | None = None,
        memory: Memory | None = None,
    ) -> Floats:
        """Choose actions `[A]` or `[B, A]`: see `goalsets.core.acting.Policy.act`."""
        asked = self._standardised(self._reader.read(observation, goal, query))
        rows = (
            (asked.states[0], asked.goals[0], asked.masks[0]) if asked.single else asked.each_row()
        )
        found = self.learner.act(*rows, rng=rng, memory=memory)
        return self.bounds.keep(self._normaliser.raw_actions(found))

    @torch.inference_mode()
    def distance(self, observation: ArrayLike, goal: ArrayLike, query: QueryLike) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`, in `distance_unit`."""
        if self.distance_unit is None:
            raise no_distance(type(self.learner).__name__)
        asked = self._standardised(self._reader.read(observation, goal, query))
        tensors = (torch.from_numpy(np.array(rows)) for rows in asked.each_row())
        found = self.learner.distance(*tensors).numpy()
        return found[0] if asked.single else found

    def planning(
        self,
        store: Store | str | Path | None = None,
        *,
        prices: Prices = "data",
        say: Callable[[str], None] = silence,
    ) -> PlanningPolicy:
        """The same policy with a planner, which asks it chains of questions: see `goalsets.plan`.

        The first time, the planner is learned from the data, which takes a few seconds. It is then
        stored in the run directory.

        Args:
            store: The data to learn from, or its directory, if the run has no planner yet; by
                default the data of its task.
            prices: How moves are priced: by the steps in the data, or by the policy's own
                distance, which must be in steps.
            say: Called with messages about the learning and the data.
        """
        if self._planner is None:
            raise GoalsetsError(
                "this policy comes from no run directory, so it has no planner: make one with "
                "goalsets.plan.Planner.learn, and pass both to goalsets.plan.PlanningPolicy."
            )
        from goalsets.plan import PlanningPolicy  # imports SciPy, which only planning needs

        return PlanningPolicy(self, self._planner(store, say=say), prices)

    def _standardised(self, asked: Asked) -> Asked:
        states = self._normaliser.states
        return Asked(
            states(asked.states), states(asked.goals), asked.masks, asked.rows, asked.single
        )


def no_distance(learner: str) -> GoalsetsError:
    """The error for a learner without a distance."""
    return GoalsetsError(f"{learner} learns no distance: use a learner with a value or distance.")
