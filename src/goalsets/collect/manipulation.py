"""Play and noisy data: OGBench's scripted oracles move one object after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ogbench.manipspace.oracles.markov.button_markov import ButtonMarkovOracle
from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle
from ogbench.manipspace.oracles.markov.drawer_markov import DrawerMarkovOracle
from ogbench.manipspace.oracles.markov.window_markov import WindowMarkovOracle
from ogbench.manipspace.oracles.plan.button_plan import ButtonPlanOracle
from ogbench.manipspace.oracles.plan.cube_plan import CubePlanOracle
from ogbench.manipspace.oracles.plan.drawer_plan import DrawerPlanOracle
from ogbench.manipspace.oracles.plan.window_plan import WindowPlanOracle

from goalsets.collect.recipes import Recipe

NOISE_SCALE = np.array([1.0, 1.0, 1.0, 3.0, 10.0])
"""Standard deviations of the noise in noisy data at level 1: x, y, z, yaw, gripper."""

_MARKOV = {
    "cube": CubeMarkovOracle,
    "button": ButtonMarkovOracle,
    "drawer": DrawerMarkovOracle,
    "window": WindowMarkovOracle,
}
_PLAN = {
    "cube": CubePlanOracle,
    "button": ButtonPlanOracle,
    "drawer": DrawerPlanOracle,
    "window": WindowPlanOracle,
}


class Play:
    """An oracle plans a movement with noise in it and follows the plan, then plans the next one."""

    oracle_classes = _PLAN

    def __init__(self, env: Any, recipe: Recipe) -> None:  # noqa: ANN401 - OGBench has no types
        """Create an oracle for each kind of object in the environment."""
        self.env = env
        self.recipe = recipe
        self.oracles = {kind: self._make_oracle(kind) for kind in _kinds(recipe.env_id)}

    def _make_oracle(self, kind: str) -> Any:  # noqa: ANN401 - OGBench has no types
        options = self._oracle_options()
        if self.recipe.env_id.startswith("puzzle"):
            # A puzzle has nothing to grasp.
            options["gripper_always_closed"] = True
        return self.oracle_classes[kind](env=self.env, **options)

    def _oracle_options(self) -> dict[str, Any]:
        return {"noise": self.recipe.noise, "noise_smoothing": self.recipe.noise_smoothing}

    def begin(self, seed: int, rng: np.random.Generator) -> NDArray[np.floating]:
        """Reset the environment, which chooses the first target."""
        self._stacking = rng.uniform(*self.recipe.stacking)
        self._observation, self._info = self.env.reset(seed=seed)
        self._turn_to_target(self._observation, self._info)
        return self._observation

    def act(self, step: int) -> NDArray[np.floating]:
        """Return the oracle's action."""
        return np.clip(self._oracle.select_action(self._observation, self._info), -1.0, 1.0)

    def observe(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        """Choose the next target when the oracle has finished the current one."""
        if self._oracle.done:
            self._turn_to_target(*self.env.set_new_target(p_stack=self._stacking))
        # As in OGBench, the first action for a new target still uses the info before the change.
        self._observation, self._info = observation, info

    def _turn_to_target(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        self._oracle = self.oracles[info["privileged/target_task"]]
        self._oracle.reset(observation, info)


class Noisy(Play):
    """An oracle reacts to the state; Gaussian noise and random actions disturb it."""

    oracle_classes = _MARKOV

    def _oracle_options(self) -> dict[str, Any]:
        return {"min_norm": self.recipe.min_norm}

    def begin(self, seed: int, rng: np.random.Generator) -> NDArray[np.floating]:
        """Draw the disturbances of the whole episode, and how strong they are."""
        steps = self.recipe.length
        level = rng.uniform(0.0, self.recipe.noise)
        self._noise = level * NOISE_SCALE * rng.standard_normal((steps, len(NOISE_SCALE)))
        self._is_random = rng.random(steps) < self.recipe.random_actions
        self._random = rng.uniform(-1.0, 1.0, (steps, len(NOISE_SCALE)))
        return super().begin(seed, rng)

    def act(self, step: int) -> NDArray[np.floating]:
        """Return a random action from time to time, otherwise the oracle's action with noise.

        The oracle is not called for a random action.
        """
        if self._is_random[step]:
            return self._random[step]
        action = self._oracle.select_action(self._observation, self._info)
        return np.clip(action + self._noise[step], -1.0, 1.0)


def _kinds(env_id: str) -> tuple[str, ...]:
    if env_id.startswith("scene"):
        return ("cube", "button", "drawer", "window")
    return ("button",) if env_id.startswith("puzzle") else ("cube",)
