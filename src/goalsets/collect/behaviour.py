"""What drives an environment through an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.collect.recipes import Recipe
from goalsets.collect.simulator import make_environment


class Driver(Protocol):
    """A behaviour at work in its environment, for one episode after another.

    Between `begin` and the last `observe` of an episode a driver may keep what it likes. Nothing of
    it may outlive the episode.
    """

    env: Any

    def begin(self, seed: int, rng: np.random.Generator) -> NDArray[np.floating]:
        """Reset the environment with `seed` and return the first observation `[D]`."""
        ...

    def act(self, step: int) -> NDArray[np.floating]:
        """Return the action `[A]`, within [-1, 1], to take in the present state."""
        ...

    def observe(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        """See what the action led to, and choose a new target if it is time."""
        ...


def make_driver(recipe: Recipe) -> Driver:
    """Create the environment of a recipe and what drives it."""
    from goalsets.collect.maze import Navigate, Stitch

    if recipe.expert is not None:
        return _make_walker(recipe)
    env = make_environment(recipe.env_id)
    if recipe.behaviour == "navigate":
        return Navigate(env, recipe)
    if recipe.behaviour == "stitch":
        return Stitch(env, recipe)
    # Imported here because OGBench's oracles load SciPy, which mazes do without.
    from goalsets.collect.manipulation import Noisy, Play

    return Play(env, recipe) if recipe.behaviour == "play" else Noisy(env, recipe)


def _make_walker(recipe: Recipe) -> Driver:
    from goalsets.collect.ant import AntExplore, AntNavigate, AntStitch
    from goalsets.collect.experts import load_expert

    assert recipe.expert is not None
    # Before the environment, which takes longer to make.
    expert = load_expert(recipe.expert)
    walkers = {"navigate": AntNavigate, "stitch": AntStitch, "explore": AntExplore}
    return walkers[recipe.behaviour](make_environment(recipe.env_id), recipe, expert)
