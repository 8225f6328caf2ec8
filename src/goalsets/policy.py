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
from goalsets.nets import QuickActor

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]


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
        # A robot asks the same question at every step: its mask is looked up, not parsed again.
        self._masks: dict[str | Query, Masks] = {}

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
        states, goals, masks = self._read(observation, goal, query)
        if states.ndim == goals.ndim == masks.ndim == 1:
            found = self._actor.one(states, self.learner.conditioner(states, goals, masks))
        else:
            with torch.inference_mode():
                found = self._actor(*self._tensors(states, goals, masks)).numpy()
        actions = self._normaliser.raw_actions(found)
        np.minimum(actions, 1.0, out=actions)  # a third of the time of np.clip
        return np.maximum(actions, -1.0, out=actions)

    @torch.inference_mode()
    def distance(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`; not every learner can tell.

        In steps for GCDL, GCIVL and GCIQL. CRL gives a score without a unit: lower is nearer.
        """
        states, goals, masks = self._read(observation, goal, query)
        steps = self.learner.distance(*self._tensors(states, goals, masks))
        if steps is None:
            raise GoalsetsError(
                f"{type(self.learner).__name__} learns no distance: ask GCDL, GCIVL, GCIQL or CRL."
            )
        found = steps.numpy()
        return found[0] if states.ndim == goals.ndim == masks.ndim == 1 else found

    def _read(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> tuple[Floats, Floats, Masks]:
        """Standardised states and goals, and masks; each `[D]` or `[B, D]`."""
        return (
            self._normaliser.states(self._checked("observation", observation)),
            self._normaliser.states(self._checked("goal", goal)),
            self._mask(query),
        )

    def _tensors(
        self, states: Floats, goals: Floats, masks: Masks
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """States and goal inputs, both with a row for each answer."""
        shape = (_rows(states, goals, masks), self.layout.dim)
        parts = [torch.from_numpy(part).expand(shape) for part in (states, goals, masks)]
        return parts[0], self.learner.conditioner(*parts)

    def _checked(self, name: str, values: ArrayLike) -> Floats:
        array = np.asarray(values, dtype=np.float32)
        if array.ndim not in (1, 2) or array.shape[-1] != self.layout.dim:
            raise GoalsetsError(
                f"{name} needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(array.shape)}."
            )
        return array

    def _mask(self, query: str | Query | ArrayLike) -> Masks:
        if isinstance(query, str | Query):
            if query not in self._masks:
                self._masks[query] = self._parse(query).mask.copy()
            return self._masks[query]
        masks = np.array(query, dtype=np.bool_)
        if masks.ndim not in (1, 2) or masks.shape[-1] != self.layout.dim:
            raise GoalsetsError(
                f"a mask needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(masks.shape)}."
            )
        if not masks.any(axis=-1).all():
            raise GoalsetsError("an empty query has no goal: a mask needs an active coordinate.")
        return masks

    def _parse(self, query: str | Query) -> Query:
        if isinstance(query, str):
            return Query.parse(query, self.layout)
        if query.layout != self.layout:
            raise GoalsetsError(
                f"the query is over layout {query.layout.name!r}, the policy over "
                f"{self.layout.name!r}."
            )
        return query


def _rows(states: Floats, goals: Floats, masks: Masks) -> int:
    """How many answers are asked for; what has one row is shared by all of them."""
    counts = {
        name: len(array) if array.ndim == 2 else 1
        for name, array in (("observation", states), ("goal", goals), ("query", masks))
    }
    rows = max(counts.values())
    for name, count in counts.items():
        if count not in (1, rows):
            raise GoalsetsError(f"{name} has {count} rows where others have {rows}.")
    return rows
