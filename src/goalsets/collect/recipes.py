"""The recipes: how OGBench collected each of its data sets.

The numbers are those of OGBench's own collection scripts (`data_gen_scripts` in its repository).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goalsets.collect.errors import CollectError
from goalsets.collect.experts import has_expert
from goalsets.core import Registry

Behaviour = Literal["play", "noisy", "navigate", "stitch", "explore"]


@dataclass(frozen=True)
class Recipe:
    """How a data set is collected, without its seed and its size."""

    env_id: str
    """The Gymnasium id of the environment."""
    behaviour: Behaviour
    """`play` follows noisy plans. `noisy` follows closed-loop oracles with noise on the actions.
    `navigate` visits one goal in a maze after another. `stitch` visits a single nearby goal.
    `explore` has no goal: it walks in one random direction after another."""
    episodes: int
    """Training episodes in OGBench's own data set."""
    length: int = 1001
    """States of an episode."""
    noise: float = 0.1
    """Level of the noise. `noisy` draws a level between 0 and this one for each episode."""
    noise_smoothing: float = 0.5
    """`play`: width, in steps, of the filter that correlates the noise in time."""
    random_actions: float = 0.0
    """`noisy`: share of the actions that are uniformly random."""
    min_norm: float = 0.4
    """`noisy`: the smallest norm of a movement, so that oracles do not approach targets slowly."""
    stacking: tuple[float, float] = (0.0, 0.0)
    """The probability that a cube is put on another one is drawn from this range for each
    episode."""
    cube_stays_visible: bool = False
    """Whether an episode is collected again if the cube leaves the visible part of the table."""
    expert: str | None = None
    """The trained policy that walks, by its name in `goalsets.collect.experts`."""


RECIPES: Registry[Recipe] = Registry("collectable data set", "goalsets tasks")

# Environment, episodes, stacking range, share of random actions in noisy data.
_MANIPULATION: tuple[tuple[str, int, tuple[float, float], float], ...] = (
    ("cube-single", 1000, (0.0, 0.0), 0.1),
    ("cube-double", 1000, (0.0, 0.25), 0.1),
    ("cube-triple", 3000, (0.05, 0.35), 0.1),
    ("cube-quadruple", 5000, (0.1, 0.5), 0.1),
    # OGBench has no such data set for eight cubes. The number of episodes is that of four cubes.
    ("cube-octuple", 5000, (0.0, 0.35), 0.1),
    ("scene", 1000, (0.5, 0.5), 0.1),
    ("puzzle-3x3", 1000, (0.5, 0.5), 0.2),
    ("puzzle-4x4", 1000, (0.5, 0.5), 0.2),
    ("puzzle-4x5", 3000, (0.5, 0.5), 0.2),
    ("puzzle-4x6", 5000, (0.5, 0.5), 0.2),
)

# Maze, then episodes and length of `navigate`.
_MAZES = (
    ("medium", 1000, 1001),
    ("large", 1000, 1001),
    ("giant", 500, 2001),
    ("teleport", 1000, 1001),
)

_DOWNLOAD_ONLY = ("antsoccer", "humanoidmaze", "powderworld", "visual")

for _env, _episodes, _stacking, _random in _MANIPULATION:
    for _behaviour in ("play", "noisy"):
        RECIPES.add(
            f"{_env}-{_behaviour}-v0",
            Recipe(
                f"{_env}-v0",
                _behaviour,
                _episodes,
                random_actions=_random if _behaviour == "noisy" else 0.0,
                stacking=_stacking,
                cube_stays_visible=_env == "scene",
            ),
        )
for _maze, _episodes, _length in _MAZES:
    _id = f"pointmaze-{_maze}-v0"
    RECIPES.add(
        f"pointmaze-{_maze}-navigate-v0", Recipe(_id, "navigate", _episodes, _length, noise=0.5)
    )
    RECIPES.add(f"pointmaze-{_maze}-stitch-v0", Recipe(_id, "stitch", 5000, 201, noise=0.5))
for _maze, _episodes, _length in _MAZES:
    _ant = f"antmaze-{_maze}"
    for _recipe in (
        Recipe(f"{_ant}-v0", "navigate", _episodes, _length, noise=0.2, expert="ant"),
        Recipe(f"{_ant}-v0", "stitch", 5000, 201, noise=0.2, expert="ant"),
        # OGBench has no such data for the giant maze. Ours has the size of the other mazes.
        Recipe(f"{_ant}-v0", "explore", 10000, 501, noise=1.0, expert="ant"),
    ):
        RECIPES.add(f"{_ant}-{_recipe.behaviour}-v0", _recipe)


def recipe_for(task: str) -> Recipe:
    """Return the recipe of a data set, or raise an error that says what to do instead."""
    if task in RECIPES:
        return RECIPES[task]
    if task.startswith(_DOWNLOAD_ONLY):
        raise CollectError(
            f"{task!r} cannot be collected: AntSoccer, HumanoidMaze, Powderworld and visual data "
            "sets are available by download only. Data sets of cube, scene, puzzle, pointmaze and "
            "antmaze can be collected."
        )
    raise CollectError(f"there is no data set {task!r} to collect: {RECIPES.suggest(task)}")


def can_collect(task: str) -> bool:
    """Whether a data set can be collected: it has a recipe, and its expert's weights exist."""
    if task not in RECIPES:
        return False
    expert = RECIPES[task].expert
    return expert is None or has_expert(expert)
