"""Putting a simulator into a state that somebody observed, to look at it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Query
from goalsets.envs.layouts import BUTTON_SCALE, DRAWER_SCALE, POSITION_SCALE, WINDOW_SCALE

CENTRE = np.array([0.425, 0.0, 0.0])
"""Where the manipulation environments count positions from, in metres."""
_OPENING_SCALE = 3.0
_DRIVER_RANGE = 0.8
"""Radians of the gripper's driving joint from open to closed."""
_OUT_OF_SIGHT = -5.0
_HUMANOID = 69
"""Coordinates of the humanoid, which observes no quaternion."""

State = NDArray[np.floating]


def put_state(env: Any, state: State) -> None:  # noqa: ANN401 - an environment of OGBench
    """Put an environment into an observed state, as far as an observation tells it."""
    inner = env.unwrapped
    if hasattr(inner, "set_xy"):
        _put_maze(inner, state)
    else:
        _put_arm(inner, state)


def show_goal(env: Any, goal: State, query: Query) -> None:  # noqa: ANN401 - as above
    """Move the marks that an environment draws for its own goal to ours, and hide the others.

    Nothing that moves touches them, and we do not ask the environment about success.
    """
    mujoco = _mujoco()

    inner = env.unwrapped
    asked = {term.name for term in query.terms}
    if hasattr(inner, "set_xy"):
        shown = bool(asked & {"pos", "root_xy"})
        inner.model.geom("target").pos[:2] = goal[:2] if shown else (1e3, 1e3)
        mujoco.mj_kinematics(inner.model, inner.data)
        return
    for cube, mocap in enumerate(getattr(inner, "_cube_target_mocap_ids", ())):
        position, orientation = _cube_pose(goal, cube)
        if f"block{cube}_pos" not in asked:
            position = np.array([0.0, 0.0, _OUT_OF_SIGHT])
        inner._data.mocap_pos[mocap] = position
        inner._data.mocap_quat[mocap] = orientation
    mujoco.mj_kinematics(inner._model, inner._data)


def _mujoco() -> Any:  # noqa: ANN401 - a module whose functions its types do not name
    """MuJoCo, which is imported only where a simulator is there already."""
    import mujoco

    return mujoco


def _put_maze(inner: Any, state: State) -> None:  # noqa: ANN401 - as above
    positions = len(inner.data.qpos)
    if len(state) == positions + len(inner.data.qvel):
        inner.set_state(np.array(state[:positions]), np.array(state[positions:]))
    elif len(state) == _HUMANOID:
        _put_humanoid(inner, state)
    else:
        inner.set_xy(np.array(state[:2]))


def _put_humanoid(inner: Any, state: State) -> None:  # noqa: ANN401 - as above
    """Its state says everything but the heading: the least turn that keeps it upright is taken."""
    joints, head, up = state[2:23], float(state[23]), np.asarray(state[36:39], dtype=np.float64)
    position = inner.data.qpos.copy()
    position[:2], position[7:] = state[:2], joints
    position[3:7] = _turn_upright(up / max(np.linalg.norm(up), 1e-6))
    inner.set_state(position, np.array(state[42:]))
    # The root goes as high as puts the head where it was seen.
    position[2] += head - inner.data.body("head").xpos[2]
    inner.set_state(position, np.array(state[42:]))


def _turn_upright(up: State) -> State:
    """The quaternion of the least turn from a unit vector `up`, seen from the body, to vertical."""
    axis = np.cross(up, (0.0, 0.0, 1.0))
    turn = np.array([1.0 + up[2], *axis])
    length = np.linalg.norm(turn)
    return turn / length if length > 1e-6 else np.array([0.0, 1.0, 0.0, 0.0])


def _put_arm(inner: Any, state: State) -> None:  # noqa: ANN401 - as above
    mujoco = _mujoco()

    data = inner._data
    data.qpos[inner._arm_joint_ids] = state[:6]
    driven = _DRIVER_RANGE * float(state[17]) / _OPENING_SCALE
    for side in ("left", "right"):
        # Each finger is a linkage with one degree of freedom.
        for joint, angle in (("driver", driven), ("spring_link", driven), ("follower", -driven)):
            data.joint(f"ur5e/robotiq/{side}_{joint}_joint").qpos[0] = angle
    for cube in range(getattr(inner, "_num_cubes", 0)):
        position, orientation = _cube_pose(state, cube)
        data.joint(f"object_joint_{cube}").qpos[:3] = position
        data.joint(f"object_joint_{cube}").qpos[3:] = orientation
    if hasattr(inner, "_cur_button_states"):
        _put_buttons(inner, state)
    if hasattr(inner, "_num_cubes") and hasattr(inner, "_cur_button_states"):  # a scene
        data.joint("drawer_slide").qpos[0] = state[36] / DRAWER_SCALE
        data.joint("window_slide").qpos[0] = state[38] / WINDOW_SCALE
    mujoco.mj_forward(inner._model, data)


def _put_buttons(inner: Any, state: State) -> None:  # noqa: ANN401 - as above
    """Four coordinates a button, after the arm and the cubes: one-hot state, depth, velocity."""
    first = 19 + 9 * getattr(inner, "_num_cubes", 0)
    for button in range(len(inner._cur_button_states)):
        start = first + 4 * button
        depth = state[start + 2] / BUTTON_SCALE
        inner._data.joint(f"buttonbox_joint_{button}").qpos[0] = depth
        inner._cur_button_states[button] = int(np.argmax(state[start : start + 2]))
    inner._apply_button_states()


def _cube_pose(state: State, cube: int) -> tuple[State, State]:
    """A cube's position in metres and its quaternion; a yaw that was edited alone goes first."""
    start = 19 + 9 * cube
    position = np.asarray(state[start : start + 3]) / POSITION_SCALE + CENTRE
    w, x, y, z = (float(v) for v in state[start + 3 : start + 7])
    yaw = math.atan2(state[start + 8], state[start + 7])
    own = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    apart = abs(math.remainder(yaw - own, math.tau))
    if apart > 0.05:
        return position, np.array([math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)])
    return position, np.array([w, x, y, z])
