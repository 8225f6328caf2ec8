"""Policy: a trained checkpoint that answers questions.

The query is an argument of every call, never a part of the checkpoint.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, Query, StateLayout
from goalsets.data.normaliser import Normaliser
from goalsets.learners import Learner

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
        self._normaliser = normaliser

    def act(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> Floats:
        """Choose actions, in the environment's units.

        Args:
            observation: `[D]`, or `[B, D]` for many at once.
            goal: The reference, `[D]` or `[B, D]`.
            query: Text, a `Query`, or a mask `[D]` or `[B, D]`.

        Returns:
            `[A]` or `[B, A]`, within [-1, 1].
        """
        states, z, single = self._prepare(observation, goal, query)
        with torch.inference_mode():
            actions = self.learner.actor(states, z).numpy()
        actions = np.clip(self._normaliser.raw_actions(actions), -1.0, 1.0)
        return actions[0] if single else actions

    def distance(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> Floats:
        """Predict the steps to the goal set, `[]` or `[B]`; not every learner can tell."""
        states, z, single = self._prepare(observation, goal, query)
        with torch.inference_mode():
            steps = self.learner.distance(states, z)
        if steps is None:
            raise GoalsetsError(
                f"{type(self.learner).__name__} learns no distance: ask GCDL, GCIVL or GCIQL."
            )
        found = steps.numpy()
        return found[0] if single else found

    def _prepare(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> tuple[torch.Tensor, torch.Tensor, bool]:
        states = self._checked("observation", observation)
        goals = self._checked("goal", goal)
        masks = self._mask(query)
        single = states.ndim == 1 and goals.ndim == 1 and masks.ndim == 1
        rows = max(len(np.atleast_2d(x)) for x in (states, goals, masks))
        for name, array in (("observation", states), ("goal", goals), ("query", masks)):
            if array.ndim == 2 and len(array) not in (1, rows):
                raise GoalsetsError(f"{name} has {len(array)} rows where others have {rows}.")
        shape = (rows, self.layout.dim)
        standard = [
            torch.from_numpy(np.broadcast_to(x, shape).copy())  # torch wants its own to write to
            for x in (self._normaliser.states(states), self._normaliser.states(goals), masks)
        ]
        with torch.inference_mode():
            return standard[0], self.learner.conditioner(*standard), single

    def _checked(self, name: str, values: ArrayLike) -> Floats:
        array = np.asarray(values, dtype=np.float32)
        if array.ndim not in (1, 2) or array.shape[-1] != self.layout.dim:
            raise GoalsetsError(
                f"{name} needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(array.shape)}."
            )
        return array

    def _mask(self, query: str | Query | ArrayLike) -> NDArray[np.bool_]:
        if isinstance(query, str):
            query = Query.parse(query, self.layout)
        if isinstance(query, Query):
            if query.layout != self.layout:
                raise GoalsetsError(
                    f"the query is over layout {query.layout.name!r}, the policy over "
                    f"{self.layout.name!r}."
                )
            return query.mask
        masks = np.asarray(query, dtype=np.bool_)
        if masks.ndim not in (1, 2) or masks.shape[-1] != self.layout.dim:
            raise GoalsetsError(
                f"a mask needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(masks.shape)}."
            )
        if not masks.any(axis=-1).all():
            raise GoalsetsError("an empty query has no goal: a mask needs an active coordinate.")
        return masks
