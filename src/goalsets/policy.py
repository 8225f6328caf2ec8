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
        self._masks: dict[str | Query, torch.Tensor] = {}

    @torch.inference_mode()
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
        actions = self._normaliser.raw_actions(self._actor(states, z).numpy())
        np.clip(actions, -1.0, 1.0, out=actions)
        return actions[0] if single else actions

    @torch.inference_mode()
    def distance(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`; not every learner can tell.

        In steps for GCDL, GCIVL and GCIQL. CRL gives a score without a unit: lower is nearer.
        """
        states, z, single = self._prepare(observation, goal, query)
        steps = self.learner.distance(states, z)
        if steps is None:
            raise GoalsetsError(
                f"{type(self.learner).__name__} learns no distance: ask GCDL, GCIVL, GCIQL or CRL."
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
        rows = 1 if single else _rows(states, goals, masks)
        shape = (rows, self.layout.dim)
        parts = (
            torch.from_numpy(self._normaliser.states(states)).expand(shape),
            torch.from_numpy(self._normaliser.states(goals)).expand(shape),
            masks.expand(shape),
        )
        return parts[0], self.learner.conditioner(*parts), single

    def _checked(self, name: str, values: ArrayLike) -> Floats:
        array = np.asarray(values, dtype=np.float32)
        if array.ndim not in (1, 2) or array.shape[-1] != self.layout.dim:
            raise GoalsetsError(
                f"{name} needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(array.shape)}."
            )
        return array

    def _mask(self, query: str | Query | ArrayLike) -> torch.Tensor:
        if isinstance(query, str | Query):
            if query not in self._masks:
                self._masks[query] = torch.from_numpy(self._parse(query).mask.copy())
            return self._masks[query]
        masks = np.array(query, dtype=np.bool_)
        if masks.ndim not in (1, 2) or masks.shape[-1] != self.layout.dim:
            raise GoalsetsError(
                f"a mask needs shape [{self.layout.dim}] or [B, {self.layout.dim}], got "
                f"{list(masks.shape)}."
            )
        if not masks.any(axis=-1).all():
            raise GoalsetsError("an empty query has no goal: a mask needs an active coordinate.")
        return torch.from_numpy(masks)

    def _parse(self, query: str | Query) -> Query:
        if isinstance(query, str):
            return Query.parse(query, self.layout)
        if query.layout != self.layout:
            raise GoalsetsError(
                f"the query is over layout {query.layout.name!r}, the policy over "
                f"{self.layout.name!r}."
            )
        return query


def _rows(states: Floats, goals: Floats, masks: torch.Tensor) -> int:
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
