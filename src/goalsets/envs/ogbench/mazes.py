"""OGBench's mazes: a point, an ant, a humanoid, or an ant with a ball between walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Query
from goalsets.envs.adapter import SIDE, Floats, Picture, State
from goalsets.envs.graphics import drawing
from goalsets.envs.landscape import GRID, Plane
from goalsets.envs.ogbench.seeded import OGBenchAdapter, direction, mujoco

if TYPE_CHECKING:
    from goalsets.envs.task import Task

_MARKED = ("ball_xy", "pos", "root_xy")
"""Groups whose goal the environment's mark can show; the ball comes first."""
_OUT_OF_SIGHT = (1e3, 1e3)
_LIMBS = ("abdomen", "right_leg", "left_leg", "right_arm", "left_arm")
"""The humanoid's joints, in the order of its model."""
_CREATURE_SPEED = 3.0
_POINT_JUMP = 1.0
_FOLLOW = 9.0
"""The distance of the camera from a creature in metres: near enough to see its legs."""
_LANDSCAPE_SEED = 0


class MazeAdapter(OGBenchAdapter):
    """An environment of the families pointmaze, antmaze, humanoidmaze and antsoccer."""

    # --- States ----------------------------------------------------------------------------------

    def put(self, state: State) -> None:
        """Set the creature to a state."""
        positions = len(self.inner.data.qpos)
        if len(state) == positions + len(self.inner.data.qvel):
            self.inner.set_state(np.array(state[:positions]), np.array(state[positions:]))
        elif "head_z" in self.names.by_name:
            self._put_humanoid(state)
        else:
            self.inner.set_xy(self.part(state, "pos"))

    def look(self) -> Floats:
        """Observe the simulator."""
        return self.observe(self.inner.get_ob())

    def show_goal(self, goal: State, query: Query) -> None:
        """Move the mark to the goal of the query, or out of sight."""
        asked = {term.name for term in query.terms}
        place = next((name for name in _MARKED if name in asked), None)
        at = _OUT_OF_SIGHT if place is None else self.part(goal, place)
        self.inner.model.geom("target").pos[:2] = at
        mujoco().mj_kinematics(self.inner.model, self.inner.data)

    def _put_humanoid(self, state: State) -> None:
        """Set a humanoid. Its state lacks the heading: use the smallest turn to its `upright`."""
        head, up = float(self.part(state, "head_z")[0]), self.part(state, "upright")
        velocities = ("root_lin_vel", "root_ang_vel", *(f"{limb}_vel" for limb in _LIMBS))
        moving = self.part(state, *velocities)
        position = self.inner.data.qpos.copy()
        position[:2] = self.part(state, "root_xy")
        position[7:] = self.part(state, *(f"{limb}_pos" for limb in _LIMBS))
        position[3:7] = _turn_upright(up / max(np.linalg.norm(up), 1e-6))
        self.inner.set_state(position, moving)
        # Raise the root so that the head has the observed height.
        position[2] += head - self.inner.data.body("head").xpos[2]
        self.inner.set_state(position, moving)

    # --- Pictures and pushes ---------------------------------------------------------------------

    def render(self, size: int = SIDE) -> Picture:
        """Draw the maze from above."""
        inner = self.inner
        if (inner.width, inner.height) != (size, size):
            inner.width = inner.height = size
            inner.model.vis.global_.offwidth = max(size, inner.model.vis.global_.offwidth)
            inner.model.vis.global_.offheight = max(size, inner.model.vis.global_.offheight)
            if inner.custom_renderer is not None:
                inner.custom_renderer.close()
                inner.custom_renderer = None
        with drawing():
            return np.array(inner.render())

    def come_close(self) -> None:
        """Move the camera near the creature."""
        self.inner.custom_camera.lookat[:2] = self.inner.get_xy()
        self.inner.custom_camera.distance = _FOLLOW
        self.inner.custom_camera.elevation = -65

    @property
    def pushes(self) -> str | None:
        """The name of the creature."""
        return self.task.family.removesuffix("maze")

    def push(self, rng: np.random.Generator) -> None:
        """Give the creature a velocity. A point has no inertia, so it is moved instead.

        If it is then inside a wall, the wall pushes it out at the next step.
        """
        if "pos" in self.names.by_name:
            self.inner.set_xy(self.inner.get_xy() + _POINT_JUMP * direction(rng))
        else:
            self.inner.data.qvel[:2] += _CREATURE_SPEED * direction(rng)


def _turn_upright(up: NDArray[np.float64]) -> NDArray[np.float64]:
    """The quaternion of the smallest turn that makes a unit vector `up` of the body vertical."""
    axis = np.cross(up, (0.0, 0.0, 1.0))
    turn = np.array([1.0 + up[2], *axis])
    length = np.linalg.norm(turn)
    return turn / length if length > 1e-6 else np.array([0.0, 1.0, 0.0, 0.0])


def maze_planes(task: Task) -> list[Plane]:
    """The single plane of PointMaze: its states are positions in the maze."""
    world = task.open()
    goal = world.start(1, _LANDSCAPE_SEED).goal
    cells = np.asarray(world.inner.maze_map)
    first = np.array(world.inner.ij_to_xy((0, 0)))
    # A cell extends half a unit from its centre.
    unit = float(abs((first - world.inner.ij_to_xy((1, 1)))[0]))
    x0, y0 = first - unit / 2
    step = max(cells.shape) * unit / GRID
    x = np.arange(x0 + step / 2, x0 + cells.shape[1] * unit, step, dtype=np.float32)
    y = np.arange(y0 + step / 2, y0 + cells.shape[0] * unit, step, dtype=np.float32)
    rows = np.clip(((y - y0) / unit).astype(int), 0, cells.shape[0] - 1)
    columns = np.clip(((x - x0) / unit).astype(int), 0, cells.shape[1] - 1)
    walls = cells[np.ix_(rows, columns)] == 1
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
    world.close()
    return [Plane("", "m", x, y, grid, goal, (float(goal[0]), float(goal[1])), walls)]
