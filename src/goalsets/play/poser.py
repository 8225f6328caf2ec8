"""Where things are in a state that somebody asks for: for ghosts, and for dragging them.

One poser serves all sessions of a server, with a world of its own, so that looking at a goal never
touches an episode.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.envs.layouts import POSITION_SCALE
from goalsets.envs.tabletop.layout import EFF_POS, JOINT_POS
from goalsets.envs.tabletop.states import arm_joints
from goalsets.envs.tasks import Task
from goalsets.evaluate.poses import CENTRE, put_state
from goalsets.play.world import Floats, World

_ARM = slice(0, 6)
_ARM_SPEEDS = slice(6, 12)
_EFFECTOR = slice(12, 15)
_HEADING = slice(15, 17)


class Poser:
    """Poses states of a task; safe to call from any thread."""

    def __init__(self, task: Task) -> None:
        """Create a world, and start it so that there is something to pose."""
        self.task = task
        self.world = World(task)
        self._lock = threading.Lock()
        self._official: dict[tuple[int, int], Floats] = {}
        self.official(1, 0)

    def official(self, task_id: int, seed: int) -> Floats:
        """The official goal `[D]` of a task id and seed."""
        with self._lock:
            if (task_id, seed) not in self._official:
                if len(self._official) > 100:
                    self._official.clear()
                self._official[task_id, seed] = self.world.start(task_id, seed)
            return self._official[task_id, seed].copy()

    def pose(self, state: Floats) -> Floats:
        """The joints' positions `[Q]` that show a state `[D]`; empty for the tabletop."""
        physics = self.world.physics
        if physics is None:
            return np.zeros(0, dtype=np.float32)
        with self._lock:
            put_state(self.world.env, np.asarray(state, dtype=np.float64))
            return np.array(physics[1].qpos, dtype=np.float32)

    def bring_arm(self, state: Floats) -> Floats:
        """The state with an arm, at rest, that holds the gripper where the state says it is."""
        moved = state.copy()
        if self.task.family == "tabletop":
            moved[JOINT_POS][:2] = arm_joints(state[None, EFF_POS])[0]
            return moved
        with self._lock:
            moved[_ARM] = self._joints(state)
        moved[_ARM_SPEEDS] = 0.0
        return moved

    def _joints(self, state: Floats) -> NDArray[np.float64]:
        """Joint angles by the environment's own inverse kinematics."""
        from ogbench.manipspace import lie

        inner: Any = self.world.env.unwrapped
        yaw = math.atan2(*state[_HEADING][::-1])
        turned = lie.SO3.from_z_radians(yaw) @ inner._effector_down_rotation
        position = state[_EFFECTOR] / POSITION_SCALE + CENTRE
        wrist = lie.SE3.from_rotation_and_translation(turned, position) @ inner._T_pa
        return inner._ik.solve(
            pos=wrist.translation(), quat=wrist.rotation().wxyz, curr_qpos=state[_ARM].copy()
        )
