"""Drivers: they choose the actions of an episode that is collected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.collect.recipes import Recipe
from goalsets.collect.simulator import make_environment


class Driver(Protocol):
    """Chooses actions in an environment, for one episode after another.

    A driver may keep a state between `begin` and the last `observe` of an episode. This state must
    not influence the next episode.
    """

    env: Any

    def begin(self, seed: int, rng: np.random.Generator) -> NDArray[np.floating]:
        """Reset the environment with `seed` and return the first observation `[D]`."""
        ...

    def act(self, step: int) -> NDArray[np.floating]:
        """Return the action `[A]`, within [-1, 1], for the current state."""
        ...

    def observe(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        """Receive the next observation, and choose a new target if it is time."""
        ...


def make_driver(recipe: Recipe) -> Driver:
    """Create the environment of a recipe and its driver."""
    from goalsets.collect.maze import Navigate, Stitch

    if recipe.expert is not None:
        return _make_walker(recipe)
    env = make_environment(recipe.env_id)
    if recipe.behaviour == "navigate":
        return Navigate(env, recipe)
    if recipe.behaviour == "stitch":
        return Stitch(env, recipe)
    # Imported here because OGBench's oracles load SciPy, which mazes do not need.
    from goalsets.collect.manipulation import Noisy, Play

    return Play(env, recipe) if recipe.behaviour == "play" else Noisy(env, recipe)


def _make_walker(recipe: Recipe) -> Driver:
    from goalsets.collect.ant import AntExplore, AntNavigate, AntStitch
    from goalsets.collect.experts import load_expert

    assert recipe.expert is not None
    # Load the expert first: a missing expert is an error, and the environment takes long to make.
    expert = load_expert(recipe.expert)
    walkers = {"navigate": AntNavigate, "stitch": AntStitch, "explore": AntExplore}
    return walkers[recipe.behaviour](make_environment(recipe.env_id), recipe, expert)
