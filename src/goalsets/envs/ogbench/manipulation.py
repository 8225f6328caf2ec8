"""OGBench's manipulation environments: an arm above a table with cubes, buttons, a drawer."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Query
from goalsets.envs.adapter import SIDE, Floats, Picture, State
from goalsets.envs.graphics import drawing
from goalsets.envs.layouts import (
    BUTTON_SCALE,
    CENTRE,
    DRAWER_SCALE,
    OPENING_SCALE,
    POSITION_SCALE,
    WINDOW_SCALE,
    arm_follows,
)
from goalsets.envs.ogbench.seeded import OGBenchAdapter, mujoco

_DRIVER_RANGE = 0.8
"""The range of the gripper's driving joint from open to closed, in radians."""
_OUT_OF_SIGHT = -5.0
_CUBE_SPEED = 1.2
"""The speed of a push in metres a second: a cube then slides some centimetres on the table."""
_ARM_SPEED = 1.5


class ManipulationAdapter(OGBenchAdapter):
    """An environment of the families cube, scene and puzzle."""

    # --- States ----------------------------------------------------------------------------------

    def put(self, state: State) -> None:
        """Set arm, gripper and objects to a state; velocities do not change."""
        data = self.inner._data
        data.qpos[self.inner._arm_joint_ids] = self.part(state, "joint_pos")
        closed = float(self.part(state, "gripper_opening")[0]) / OPENING_SCALE
        self._put_fingers(_DRIVER_RANGE * closed)
        for cube in range(self._cubes):
            position, orientation = self._cube_pose(state, cube)
            data.joint(f"object_joint_{cube}").qpos[:3] = position
            data.joint(f"object_joint_{cube}").qpos[3:] = orientation
        for button in range(self._buttons):
            self._put_button(state, button)
        if self._buttons:
            self.inner._apply_button_states()
        for thing, scale in (("drawer", DRAWER_SCALE), ("window", WINDOW_SCALE)):
            if f"{thing}_pos" in self.names.by_name:
                opened = self.part(state, f"{thing}_pos")[0] / scale
                data.joint(f"{thing}_slide").qpos[0] = opened
        mujoco().mj_forward(self.inner._model, data)

    def look(self) -> Floats:
        """Observe the simulator."""
        return self.observe(self.inner.compute_observation())

    def show_goal(self, goal: State, query: Query) -> None:
        """Move the cubes that mark the goal, and hide those that the query does not ask for.

        They do not collide with anything. The environment's own success is not used here.
        """
        asked = {term.name for term in query.terms}
        for cube, mocap in enumerate(getattr(self.inner, "_cube_target_mocap_ids", ())):
            position, orientation = self._cube_pose(goal, cube)
            if f"block{cube}_pos" not in asked:
                position = np.array([0.0, 0.0, _OUT_OF_SIGHT])
            self.inner._data.mocap_pos[mocap] = position
            self.inner._data.mocap_quat[mocap] = orientation
        mujoco().mj_kinematics(self.inner._model, self.inner._data)

    def follow(self, state: Floats, moved: Collection[str]) -> Floats:
        """Let the arm follow its gripper, by the environment's own inverse kinematics."""
        if not arm_follows(moved):
            return state
        from ogbench.manipspace import lie

        cosine, sine = self.part(state, "eff_yaw")
        down = self.inner._effector_down_rotation
        turned = lie.SO3.from_z_radians(math.atan2(sine, cosine)) @ down
        position = self.part(state, "eff_pos") / POSITION_SCALE + CENTRE
        wrist = lie.SE3.from_rotation_and_translation(turned, position) @ self.inner._T_pa
        joints = self.inner._ik.solve(
            pos=wrist.translation(),
            quat=wrist.rotation().wxyz,
            curr_qpos=self.part(state, "joint_pos"),
        )
        brought = state.copy()
        self.write(brought, "joint_pos", joints)
        self.write(brought, "joint_vel", 0.0)
        return brought

    @property
    def _cubes(self) -> int:
        return getattr(self.inner, "_num_cubes", 0)

    @property
    def _buttons(self) -> int:
        return len(getattr(self.inner, "_cur_button_states", ()))

    def _put_fingers(self, angle: float) -> None:
        for side in ("left", "right"):
            # Each finger is a linkage with one degree of freedom.
            for joint, turned in (("driver", angle), ("spring_link", angle), ("follower", -angle)):
                named = f"ur5e/robotiq/{side}_{joint}_joint"
                self.inner._data.joint(named).qpos[0] = turned

    def _put_button(self, state: State, button: int) -> None:
        depth = self.part(state, f"button{button}_pos")[0] / BUTTON_SCALE
        self.inner._data.joint(f"buttonbox_joint_{button}").qpos[0] = depth
        shown = int(np.argmax(self.part(state, f"button{button}_state")))
        self.inner._cur_button_states[button] = shown

    def _cube_pose(
        self, state: State, cube: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A cube's position in metres and its quaternion. A yaw that differs from it counts."""
        position = self.part(state, f"block{cube}_pos") / POSITION_SCALE + CENTRE
        w, x, y, z = (float(v) for v in self.part(state, f"block{cube}_quat"))
        cosine, sine = self.part(state, f"block{cube}_yaw")
        yaw = math.atan2(sine, cosine)
        own = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        if abs(math.remainder(yaw - own, math.tau)) > 0.05:
            return position, np.array([math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)])
        return position, np.array([w, x, y, z])

    # --- Pictures and pushes ---------------------------------------------------------------------

    def render(self, size: int = SIDE) -> Picture:
        """Draw the view of the front camera."""
        inner = self.inner
        if (inner._render_width, inner._render_height) != (size, size):
            inner._render_width = inner._render_height = size
            if inner._model is not None:
                inner._model.vis.global_.offwidth = inner._model.vis.global_.offheight = size
            if inner._renderer is not None:
                inner._renderer.close()
                inner._renderer = None
        with drawing():
            return np.array(inner.render())

    @property
    def physics(self) -> tuple[Any, Any] | None:
        """MuJoCo's model and data, which the first start builds."""
        return None if self.inner._model is None else (self.inner._model, self.inner._data)

    @property
    def step_seconds(self) -> float | None:
        """The control period of the environment."""
        return float(self.inner._control_timestep)

    @property
    def pushes(self) -> str | None:
        """A block, as the layout calls cubes, if there is one; otherwise the arm."""
        return "block" if self._cubes else "arm"

    def push(self, rng: np.random.Generator) -> None:
        """Give a cube or the arm a velocity."""
        if self._cubes:
            self._push_cube(rng)
        else:
            joints = self.inner._arm_joint_ids
            kicks = rng.uniform(-_ARM_SPEED, _ARM_SPEED, len(joints))
            self.inner._data.qvel[joints] += kicks

    def _push_cube(self, rng: np.random.Generator) -> None:
        """Push a cube towards the middle, so that it stays on the table."""
        joint = self.inner._data.joint(f"object_joint_{rng.integers(self._cubes)}")
        low, high = self.inner._object_sampling_bounds
        inwards = (low + high) / 2 - joint.qpos[:2]
        angle = np.arctan2(inwards[1], inwards[0]) + rng.uniform(-1.2, 1.2)
        joint.qvel[:2] += _CUBE_SPEED * np.array([np.cos(angle), np.sin(angle)])
