"""The tasks of OGBench: every state-based environment with the data sets that exist for it."""

from __future__ import annotations

import dataclasses
import functools
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from goalsets.core import StateLayout
from goalsets.core.extras import MissingExtraError, check_installed
from goalsets.envs import layouts
from goalsets.envs.landscape import Terrain
from goalsets.envs.ogbench.manipulation import ManipulationAdapter
from goalsets.envs.ogbench.mazes import MazeAdapter, maze_planes
from goalsets.envs.task import TASKS, Scene, Shows, Task
from goalsets.envs.tasks.tuned import tuned_for

if TYPE_CHECKING:
    import gymnasium

# OGBench builds its action space from float64 at each access, and Gymnasium warns each time.
warnings.filterwarnings("ignore", ".*precision lowered by casting", UserWarning)


@dataclass(frozen=True)
class OGBenchTask(Task):
    """A task of OGBench, which registers its environments when it is imported."""

    def require_libraries(self) -> None:
        """Raise an error that says what to install, or that there is no release for this Python."""
        if sys.version_info >= (3, 13) and find_spec("ogbench") is None:
            raise MissingExtraError(
                f"the environment of {self.name} needs OGBench, which has no release for Python "
                "3.13 and later: use Python 3.10 to 3.12."
            )
        check_installed("ogbench", f"the environment of {self.name}")

    def make(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:  # noqa: ANN401 - Gymnasium's own
        """Create the environment."""
        self.require_libraries()
        import ogbench  # noqa: F401 - registers the environments

        return super().make(**kwargs)

    def make_drawn(self) -> gymnasium.Env[Any, Any]:
        """Create the environment; all environments of OGBench can be drawn."""
        return self.make()

    @property
    def terrain(self) -> Terrain | None:
        """The terrain of PointMaze, whose states are a plane; None for others."""
        if self.layout.dim != 2:
            return None
        return Terrain(
            queries=("pos", "[0]", "[1]"),
            caption="over where the point is; “[0]” and “[1]” ask for one coordinate of the goal. "
            "Grey: walls.",
            planes=functools.partial(maze_planes, self),
        )


_REACH = ((0.25, -0.35, 0.02), (0.6, 0.35, 0.35))
"""The gripper's workspace in the manipulation environments, in metres."""
_RED, _BLUE, _WHITE = (245, 66, 84), (89, 140, 232), (230, 230, 230)
_ARMS: Shows = (
    (r"object_(\d+)$", (r"block{0}_",)),
    (r"button_(\d+)$", (r"button{0}_",)),
    (r"drawer_link$", ("drawer_",)),
    (r"windowb_a$", ("window_",)),
    (r"ur5e/robotiq", ("eff_", "gripper_")),
    (r"ur5e/", ("joint_",)),
)
_CREATURES: Shows = (
    (r"ball$", ("ball_",)),
    (r"front_left_leg", ("front_left_",)),
    (r"front_right_leg", ("front_right_",)),
    (r"right_back_leg", ("back_right_",)),
    (r"back_leg", ("back_left_",)),
    (r"head$", ("head_", "upright")),
    (r"(left|right)_(thigh|shin|foot)$", ("{0}_leg_", "{0}_foot_")),
    (r"(left|right)_(upper_arm|lower_arm|hand)$", ("{0}_arm_", "{0}_hand_")),
    (r"(lower_waist|pelvis)$", ("abdomen_",)),
    (r"torso$", ("root_", "pos", "com_", "upright")),
)
_TABLE = Scene("table", layouts.POSITION_SCALE, layouts.CENTRE, _REACH, shows=_ARMS)
_SCENE = dataclasses.replace(_TABLE, buttons=(_RED, _WHITE))
_PUZZLE = dataclasses.replace(_TABLE, buttons=(_RED, _BLUE))
_MAZE = Scene("maze", shows=_CREATURES)

_POINT = layouts.pointmaze_layout()
_ANT = layouts.antmaze_layout()
_HUMANOID = layouts.humanoidmaze_layout()
_SOCCER = layouts.antsoccer_layout()

_BOTH = ("play", "noisy")


class _Environment(NamedTuple):
    name: str
    layout: StateLayout
    horizon: int
    """Steps of an evaluation episode."""
    data: Mapping[str, int]
    """H_max by data set: the paper's value for its eight tasks; for others the length of an episode
    of the data or of evaluation, whichever is shorter."""
    goals: tuple[str, ...] = ("", "", "", "", "")
    """OGBench's names of the official goals, without `task1` and so on."""
    scene: Scene = _MAZE


_ENVIRONMENTS = (
    _Environment(
        "cube-single", layouts.cube_layout(1), 200, dict.fromkeys(_BOTH, 200),
        ("_horizontal", "_vertical1", "_vertical2", "_diagonal1", "_diagonal2"), _TABLE,
    ),
    _Environment(
        "cube-double", layouts.cube_layout(2), 500, dict.fromkeys(_BOTH, 500),
        ("_single_pnp", "_double_pnp1", "_double_pnp2", "_swap", "_stack"), _TABLE,
    ),
    _Environment(
        "cube-triple", layouts.cube_layout(3), 1000, dict.fromkeys(_BOTH, 1000),
        ("_single_pnp", "_triple_pnp", "_pnp_from_stack", "_cycle", "_stack"), _TABLE,
    ),
    _Environment(
        "cube-quadruple", layouts.cube_layout(4), 1000, dict.fromkeys(_BOTH, 1000),
        ("_double_pnp", "_quadruple_pnp", "_pnp_from_square", "_cycle", "_stack"), _TABLE,
    ),
    _Environment(
        "cube-octuple", layouts.cube_layout(8), 1500, dict.fromkeys(_BOTH, 1000),
        ("_quadruple_pnp", "_octuple_pnp1", "_octuple_pnp2", "_stack1", "_stack2"), _TABLE,
    ),
    _Environment(
        "scene", layouts.scene_layout(), 750, {"play": 1000, "noisy": 750},
        ("_open", "_unlock_and_lock", "_rearrange_medium", "_put_in_drawer", "_rearrange_hard"),
        _SCENE,
    ),
    _Environment(
        "puzzle-3x3", layouts.puzzle_layout(3, 3), 500, dict.fromkeys(_BOTH, 500), scene=_PUZZLE
    ),
    _Environment(
        "puzzle-4x4", layouts.puzzle_layout(4, 4), 500, dict.fromkeys(_BOTH, 500), scene=_PUZZLE
    ),
    _Environment(
        "puzzle-4x5", layouts.puzzle_layout(4, 5), 1000, dict.fromkeys(_BOTH, 1000), scene=_PUZZLE
    ),
    _Environment(
        "puzzle-4x6", layouts.puzzle_layout(4, 6), 1000, dict.fromkeys(_BOTH, 1000), scene=_PUZZLE
    ),
    _Environment("pointmaze-medium", _POINT, 1000, {"navigate": 500, "stitch": 200}),
    _Environment("pointmaze-large", _POINT, 1000, {"navigate": 1000, "stitch": 200}),
    _Environment("pointmaze-giant", _POINT, 1000, {"navigate": 1000, "stitch": 200}),
    _Environment("pointmaze-teleport", _POINT, 1000, {"navigate": 1000, "stitch": 200}),
    _Environment("antmaze-medium", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    _Environment("antmaze-large", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    _Environment("antmaze-giant", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    _Environment("antmaze-teleport", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    _Environment("humanoidmaze-medium", _HUMANOID, 2000, {"navigate": 2000, "stitch": 400}),
    _Environment("humanoidmaze-large", _HUMANOID, 2000, {"navigate": 2000, "stitch": 400}),
    _Environment("humanoidmaze-giant", _HUMANOID, 4000, {"navigate": 4000, "stitch": 400}),
    # OGBench also registers `humanoidmaze-teleport-v0`, but its model lacks a material and cannot
    # be built. There is no data for it either.
    _Environment("antsoccer-arena", _SOCCER, 1000, {"navigate": 1000, "stitch": 200}),
    _Environment("antsoccer-medium", _SOCCER, 1000, {"navigate": 1000, "stitch": 500}),
)  # fmt: skip

# Environments for which OGBench has no data set of this kind and size.
_UNPUBLISHED = (
    "cube-octuple-play-v0",
    "cube-octuple-noisy-v0",
    "antmaze-giant-explore-v0",
)

_KINDS = {"play": "play", "noisy": "noisy", "pointmaze": "pointmaze", "antmaze": "noisy"}
"""The column of the paper's table of α: by the kind of data, or else by the maze; others have
none."""


def _motion(environment: _Environment) -> int | None:
    """The number of steps of a motion.

    A pick and place of OGBench's scripts takes 88 steps: 47 to reach the object and 41 to carry it.
    With several objects, the hand must first put down the one that it holds. A press of a button
    takes 33 steps. With a longer window, most queries about a puzzle would need several presses.
    """
    if environment.scene is _MAZE:
        return None
    if environment.name.startswith("puzzle"):
        return 45
    return 90 if environment.name == "cube-single" else 120


def _add(environment: _Environment, data: str, relabel_horizon: int) -> None:
    name = f"{environment.name}-{data}-v0"
    maze = environment.scene is _MAZE
    task = OGBenchTask(
        name=name,
        env_id=f"{environment.name}-v0",
        layout=environment.layout,
        horizon=environment.horizon,
        relabel_horizon=relabel_horizon,
        motion=_motion(environment),
        published=name not in _UNPUBLISHED,
        goals=tuple(f"task{n}{rest}" for n, rest in enumerate(environment.goals, start=1)),
        adapter=MazeAdapter if maze else ManipulationAdapter,
        data_kind=_KINDS.get(data) or _KINDS.get(environment.name.partition("-")[0]),
        action_range=(-1.0, 1.0),
        domain="Navigation" if maze else "Manipulation",
        scene=environment.scene,
        tuned=tuned_for(name),
    )
    TASKS.add(name, task)


for _environment in _ENVIRONMENTS:
    for _data, _relabel_horizon in _environment.data.items():
        _add(_environment, _data, _relabel_horizon)
