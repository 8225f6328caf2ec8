"""Policy: a trained checkpoint that answers questions.

The query is an argument of every call, never a part of the checkpoint.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.inputs import Asked, InputReader, Question
from goalsets.data.normaliser import Normaliser
from goalsets.learners import Learner
from goalsets.nets import QuickActor

Floats = NDArray[np.float32]


class Policy:
    """Acts towards goal sets, and tells how far they are.

    Args:
        learner: Trained; it is put into evaluation mode.
        layout: The layout of the states.
        normaliser: Of the data it was trained on.
    """

    def __init__(self, learner: Learner, layout: StateLayout, normaliser: Normaliser) -> None:
        """Keep the parts."""
        self.learner = learner.eval()
        self.layout = layout
        self._actor = QuickActor(learner.actor)
        self._normaliser = normaliser
        self._reader = InputReader(layout)

    def act(self, observation: ArrayLike, goal: ArrayLike, query: Question) -> Floats:
        """Choose actions, in the environment's units.

        Args:
            observation: `[D]`, or `[B, D]` for many at once.
            goal: The reference, `[D]` or `[B, D]`.
            query: Text, a `Query`, or a mask `[D]` or `[B, D]`.

        Returns:
            `[A]` or `[B, A]`, within [-1, 1].
        """
        asked = self._reader.read(observation, goal, query)
        if asked.single:
            state, goal_state = self._normaliser.states(asked.states[0]), asked.goals[0]
            z = self.learner.conditioner(state, self._normaliser.states(goal_state), asked.masks[0])
            found = self._actor.one(state, z)
        else:
            with torch.inference_mode():
                found = self._actor(*self._tensors(asked)).numpy()
        actions = self._normaliser.raw_actions(found)
        np.minimum(actions, 1.0, out=actions)  # a third of the time of np.clip
        return np.maximum(actions, -1.0, out=actions)

    @torch.inference_mode()
    def distance(self, observation: ArrayLike, goal: ArrayLike, query: Question) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`; not every learner can tell.

        In steps for GCDL, GCIVL and GCIQL. CRL gives a score without a unit: lower is nearer.
        """
        asked = self._reader.read(observation, goal, query)
        steps = self.learner.distance(*self._tensors(asked))
        if steps is None:
            raise GoalsetsError(
                f"{type(self.learner).__name__} learns no distance: ask GCDL, GCIVL, GCIQL or CRL."
            )
        found = steps.numpy()
        return found[0] if asked.single else found

    def _tensors(self, asked: Asked) -> tuple[torch.Tensor, torch.Tensor]:
        """Standardised states and goal inputs, both with a row for each answer."""
        shape = (asked.rows, self.layout.dim)
        parts = (
            torch.from_numpy(self._normaliser.states(asked.states)).expand(shape),
            torch.from_numpy(self._normaliser.states(asked.goals)).expand(shape),
            torch.from_numpy(asked.masks).expand(shape),
        )
        return parts[0], self.learner.conditioner(*parts)
