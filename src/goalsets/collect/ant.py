"""Ant data: a trained ant walks along shortest paths or in random directions, with noise.

The expert sees the state without its position, and the direction to the next cell. As in OGBench,
Gaussian noise is added to its mean action.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.collect.errors import CollectError
from goalsets.collect.experts import Expert, load_expert
from goalsets.collect.maze import Navigate, Stitch
from goalsets.collect.recipes import Recipe

DIRECTION_STEPS = 10
"""How many steps `explore` keeps a direction."""


class AntNavigate(Navigate):
    """Walks to a random junction or dead end; on arrival, it walks to another one."""

    def __init__(self, env: Any, recipe: Recipe, expert: Expert | None = None) -> None:  # noqa: ANN401
        """Load the recipe's expert, unless one is given."""
        super().__init__(env, recipe)
        assert recipe.expert is not None
        self.expert = expert or load_expert(recipe.expert)
        (state,), (action,) = env.observation_space.shape, env.action_space.shape
        if (self.expert.inputs, self.expert.outputs) != (state, action):
            raise CollectError(
                f"the expert of {recipe.env_id} should take {state} numbers and give {action}; "
                f"it takes {self.expert.inputs} and gives {self.expert.outputs}."
            )

    def act(self, step: int) -> NDArray[np.floating]:
        """Return the expert's action towards the next cell, with noise."""
        # A teleport moves the ant after the observation, so get the state from the environment.
        action = self.expert.act(self.env.get_ob(), self._direction(step))
        return np.clip(action + self._noise[step], -1.0, 1.0)


class AntStitch(AntNavigate, Stitch):
    """Walks to one nearby goal and stays there: longer paths must be stitched together."""


class AntExplore(AntNavigate):
    """Walks in a random direction for a second, then in another. The noise is very large."""

    def begin(self, seed: int, rng: np.random.Generator) -> NDArray[np.floating]:
        """Draw the directions of the whole episode."""
        angles = rng.uniform(0.0, 2.0 * np.pi, -(-self.recipe.length // DIRECTION_STEPS))
        self._directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return super().begin(seed, rng)

    def observe(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        """Do nothing, because there is no goal."""

    def _direction(self, step: int) -> tuple[float, float]:
        x, y = self._directions[step // DIRECTION_STEPS].tolist()
        return x, y
