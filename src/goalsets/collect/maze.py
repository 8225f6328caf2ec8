"""Maze data: a point walks along shortest paths, with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.collect.recipes import Recipe

STITCH_DISTANCE = 4
"""Cells between the start and the goal of a `stitch` episode."""

Cell = tuple[int, int]


class Navigate:
    """Walks to a random junction or dead end; on arrival, it walks to another one."""

    def __init__(self, env: Any, recipe: Recipe) -> None:  # noqa: ANN401 - OGBench has no types
        """Find the free cells of the maze."""
        self.env = env
        self.recipe = recipe
        self.cells: list[Cell] = [(int(i), int(j)) for i, j in np.argwhere(env.maze_map == 0)]
        self.junctions = [cell for cell in self.cells if not _is_hallway(env.maze_map, cell)]
        self._subgoals: dict[tuple[Cell, Cell], tuple[float, float]] = {}

    def begin(self, seed: int, rng: np.random.Generator) -> NDArray[np.floating]:
        """Choose a start and a goal, and draw the noise of the whole episode."""
        self._rng = rng
        self._noise = rng.normal(
            0.0, self.recipe.noise, (self.recipe.length, *self.env.action_space.shape)
        )
        start = _choose(self.cells, rng)
        goal = self._choose_goal(start, rng)
        # A reset takes a few random actions, so the action space needs the seed too.
        self.env.action_space.seed(seed)
        task = {"init_ij": start, "goal_ij": goal}
        observation, _ = self.env.reset(seed=seed, options={"task_info": task})
        self._goal = self.env.xy_to_ij(self.env.cur_goal_xy)
        return observation

    def act(self, step: int) -> NDArray[np.floating]:
        """Step towards the next cell on the shortest path. The noise is half as large as a step."""
        x, y = self._direction(step)
        noise_x, noise_y = self._noise[step].tolist()
        # Plain floats: numpy's overhead would be a tenth of an environment step.
        return np.array(
            [min(max(x + noise_x, -1.0), 1.0), min(max(y + noise_y, -1.0), 1.0)],
        )

    def observe(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        """Choose another goal on arrival."""
        if info["success"]:
            # Not set_goal(goal_ij=...): OGBench then sets the position of the goal's mark to nan.
            center = self.env.ij_to_xy(_choose(self.junctions, self._rng))
            self.env.set_goal(goal_xy=self.env.add_noise(center))
            self._goal = self.env.xy_to_ij(self.env.cur_goal_xy)

    def _direction(self, step: int) -> tuple[float, float]:
        """The unit vector from the point to the next cell on the shortest path."""
        # A teleport moves the point after the observation, so get its place from the environment.
        x, y = self.env.get_xy().tolist()
        subgoal_x, subgoal_y = self._subgoal(self.env.xy_to_ij((x, y)))
        dx, dy = subgoal_x - x, subgoal_y - y
        distance = math.hypot(dx, dy) + 1e-6
        return dx / distance, dy / distance

    def _choose_goal(self, start: Cell, rng: np.random.Generator) -> Cell:
        return _choose(self.junctions, rng)

    def _subgoal(self, cell: Cell) -> tuple[float, float]:
        """The centre of the next cell on the way to the goal.

        OGBench searches the whole maze at each step, which takes longer than the step itself. The
        result depends on two cells only, so it is kept for each pair.
        """
        key = (cell, self._goal)
        if key not in self._subgoals:
            centers = (self.env.ij_to_xy(place) for place in key)
            subgoal, _ = self.env.get_oracle_subgoal(*centers)
            self._subgoals[key] = (float(subgoal[0]), float(subgoal[1]))
        return self._subgoals[key]


class Stitch(Navigate):
    """Walks to one nearby goal and stays there: longer paths must be stitched together."""

    def observe(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        """Keep the goal."""

    def _choose_goal(self, start: Cell, rng: np.random.Generator) -> Cell:
        center = self.env.ij_to_xy(start)
        _, distances = self.env.get_oracle_subgoal(center, center)
        near = [cell for cell in self.cells if distances[cell] == STITCH_DISTANCE]
        return _choose(near, rng) if near else start


def _choose(cells: list[Cell], rng: np.random.Generator) -> Cell:
    return cells[rng.integers(len(cells))]


def _is_hallway(maze: NDArray[np.integer], cell: Cell) -> bool:
    """Whether a cell is open on two opposite sides and closed on the others."""
    i, j = cell
    vertical = (maze[i - 1, j], maze[i + 1, j])
    horizontal = (maze[i, j - 1], maze[i, j + 1])
    return (vertical, horizontal) in (((0, 0), (1, 1)), ((1, 1), (0, 0)))
