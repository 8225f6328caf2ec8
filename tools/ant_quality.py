"""How well the ant walks when it collects: `python tools/ant_quality.py [TASK] [--episodes N]`.

Collects episodes like `goalsets data collect`, without keeping them. Prints how many of its targets
the ant reaches, which cells it visits and how fast it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.collect import RECIPES
from goalsets.collect.ant import AntNavigate
from goalsets.collect.episode import Job, collect_episode
from goalsets.collect.experts import load_expert, read_expert
from goalsets.collect.simulator import make_environment
from goalsets.evaluate.stats import Rate

SECONDS_PER_STEP = 0.1
PATIENCE, GOAL_PATIENCE = 100, 500
"""Steps without arriving in the next cell, or at the goal, after which it counts as missed."""


@dataclass
class Tally:
    """What was counted over all episodes."""

    goals: int = 0
    """Goals reached: each is several cells away."""
    goals_missed: int = 0
    """Goals that were not reached in time."""
    waypoints: int = 0
    """Next cells on the way that were reached."""
    missed: int = 0
    """Next cells that were not reached in time; the last one of an episode is not counted."""
    cells: set[tuple[int, int]] = field(default_factory=set)
    metres: float = 0.0
    steps: int = 0
    upside_down: int = 0


class Watched(AntNavigate):
    """The ant that collects, with counts."""

    tally: Tally

    def begin(self, seed: int, rng: np.random.Generator) -> NDArray[np.floating]:
        """Start to count towards the first waypoint."""
        observation = super().begin(seed, rng)
        self._cell = self.env.xy_to_ij(self.env.get_xy())
        self._since = self._since_goal = 0
        self._before = self.env.get_xy().copy()
        return observation

    def observe(self, observation: NDArray[np.floating], info: Mapping[str, Any]) -> None:
        """Count a goal, a waypoint, or another step without either."""
        tally = self.tally
        here = self.env.get_xy().copy()
        cell = self.env.xy_to_ij(here)
        tally.cells.add((int(cell[0]), int(cell[1])))
        tally.metres += float(np.hypot(*(here - self._before)))
        tally.steps += 1
        tally.upside_down += _is_upside_down(observation)
        self._before = here
        self._since += 1
        self._since_goal += 1
        tally.goals_missed += self._since_goal == GOAL_PATIENCE
        wanted = self.env.xy_to_ij(self._subgoal(self._cell))
        arrived = tuple(cell) == tuple(wanted) and tuple(cell) != tuple(self._cell)
        if arrived or info["success"]:
            tally.waypoints += 1
            tally.goals += bool(info["success"])
        elif self._since == PATIENCE:
            tally.missed += 1
        if tuple(cell) != tuple(self._cell) or info["success"] or self._since == PATIENCE:
            self._cell, self._since = cell, 0
        if info["success"]:
            self._since_goal = 0
        super().observe(observation, info)


def _is_upside_down(observation: NDArray[np.floating]) -> bool:
    """Whether the torso is upside down; its quaternion is (w, x, y, z)."""
    _, x, y, _ = observation[3:7]
    return bool(1.0 - 2.0 * (x * x + y * y) < 0.0)


def main() -> None:
    """Walk, count and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("task", nargs="?", default="antmaze-medium-navigate-v0")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--expert", type=Path, help="weights to use instead of the shipped ones")
    args = parser.parse_args()
    recipe = RECIPES[args.task]
    expert = read_expert(args.expert) if args.expert else load_expert("ant")
    driver = Watched(make_environment(recipe.env_id), recipe, expert)
    driver.tally = tally = Tally()
    for index in range(args.episodes):
        collect_episode(driver, recipe, 0, Job("train", index))
    tried = tally.waypoints + tally.missed
    print(f"{args.task}, {args.episodes} episodes of {recipe.length} steps")
    print(
        f"waypoints reached  {Rate(tally.waypoints, tried)} of {tried:,}; "
        f"missed is what takes more than {PATIENCE} steps"
    )
    aims = tally.goals + tally.goals_missed
    print(
        f"goals reached      {Rate(tally.goals, aims)} of {aims:,}, "
        f"{tally.goals / args.episodes:.1f} an episode; "
        f"missed is what takes more than {GOAL_PATIENCE} steps"
    )
    print(f"cells visited      {len(tally.cells)} of {len(driver.cells)}")
    print(f"speed              {tally.metres / tally.steps / SECONDS_PER_STEP:.2f} m/s")
    print(f"upside down        {tally.upside_down / tally.steps:.2%} of steps")


if __name__ == "__main__":
    main()
