"""A whole robot from one file: the arm of Gymnasium-Robotics' FetchPickAndPlace, with its data.

A gripper above a table brings a block to a place, on the table or in the air. This file says
what the robot's states mean, which goals are official, how to put a state into the simulator, and
how to make data. goalsets has no code for this robot; `--plugin` makes every command work with it:

    pip install gymnasium-robotics
    goalsets tasks check fetch-pick-v0 --plugin examples/plugins/fetch.py
    goalsets train fetch-pick-v0 --plugin examples/plugins/fetch.py --output runs/fetch
    goalsets ask runs/fetch --query "gripper_pos & fingers" --plugin examples/plugins/fetch.py
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from goalsets import Episode, Group, Query, StateLayout
from goalsets.envs.tasks import TASKS, Adapter, Scene, Script, Task

EPISODES = min(1_000, int(os.environ.get("FETCH_EPISODES", "600")))
"""How many episodes to make; a tenth as many are held out. The limit is a thousand: seeds count
from 1,000,000 and 2,000,000, and those of evaluations and suites begin a thousand later."""
STEP = 0.04
"""Seconds of one step. The environment's velocities are changes during one step."""
HALF_BLOCK = 0.025

LAYOUT = StateLayout(
    25,
    [
        Group("gripper_pos", range(3), unit="m", tolerance=0.03),
        Group("object_pos", range(3, 6), unit="m", tolerance=0.05, description="the block's place",
              relative_to="gripper_pos"),
        Group("object_rel", range(6, 9), unit="m", tolerance=0.03, description="from the gripper"),
        Group("fingers", (9, 10), unit="m", tolerance=0.01, description="0 closed, 0.05 open"),
        Group("object_rot", range(11, 14), unit="rad", tolerance=0.3, description="Euler angles"),
        Group("object_vel", range(14, 17), unit="m/s", scale=STEP, tolerance=0.2 * STEP,
              description="seen from the gripper"),
        Group("object_spin", range(17, 20), unit="rad/s", scale=STEP, tolerance=1.0 * STEP),
        Group("gripper_vel", range(20, 23), unit="m/s", scale=STEP, tolerance=0.2 * STEP),
        Group("finger_vel", (23, 24), unit="m/s", scale=STEP, tolerance=0.1 * STEP),
    ],
    aliases={"held": "object_rel & fingers", "gripper": "gripper_pos & fingers"},
    task="object_pos",  # the environment's own success: within 5 cm
    name="fetch",
)  # fmt: skip

GRIPPER, BLOCK, RELATIVE, FINGERS, TURNED = (
    list(LAYOUT.group(name).indices)
    for name in ("gripper_pos", "object_pos", "object_rel", "fingers", "object_rot")
)

GOALS: dict[str, Callable[[float, float], bool]] = {
    "near on the table": lambda up, away: up == 0 and 0.07 < away < 0.15,
    "far on the table": lambda up, away: up == 0 and away > 0.2,
    "low in the air": lambda up, _: 0.07 < up < 0.2,
    "high in the air": lambda up, _: up > 0.25,
    "anywhere": lambda up, away: away > 0.05 or up > 0.05,
}
"""Official goals. Each kind accepts drawn places by their height and their distance."""


class FetchAdapter(Adapter):
    """The parts that goalsets needs from Fetch beyond Gymnasium."""

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        """Start as the environment does, with a goal of the requested kind."""
        raw, info = super().reset(seed, None)
        kinds, block = list(GOALS.values()), raw["observation"][BLOCK]
        number = (options or {}).get("task_id", len(kinds))
        fits = kinds[number - 1]
        # Every kind has its own generator: otherwise two kinds might draw the same place.
        self.inner.np_random = np.random.default_rng(None if seed is None else (seed, number))
        goal = self.inner._sample_goal()
        while not fits(goal[2] - self.inner.height_offset, _far(goal, block)):
            goal = self.inner._sample_goal()
        self.inner.goal = goal
        return {**raw, "desired_goal": goal.copy()}, info

    def goal_state(self, raw: Any, info: Mapping[str, Any]) -> np.ndarray:
        """The goal as a possible state: the gripper holds the block there, at rest."""
        goal = np.zeros(LAYOUT.dim, dtype=np.float32)
        goal[GRIPPER] = goal[BLOCK] = raw["desired_goal"]
        goal[FINGERS] = HALF_BLOCK
        return goal

    def put(self, state: np.ndarray) -> None:
        """Let the gripper's weld pull the arm to its place, then set down block and fingers."""
        import mujoco
        from gymnasium_robotics.utils import mujoco_utils, rotations

        robot, model, data = self.inner, self.inner.model, self.inner.data
        robot._reset_sim()
        for _ in range(20):  # keep the block out of the arm's way
            data.joint("object0:joint").qpos[:3] = 0.0, 0.0, 3.0
            mujoco_utils.reset_mocap2body_xpos(model, data)
            data.mocap_pos[:] += state[GRIPPER] - data.site("robot0:grip").xpos
            mujoco.mj_step(model, data, nstep=robot.n_substeps)
        data.qvel[:] = 0.0
        for name, place in zip("rl", state[FINGERS], strict=True):
            data.joint(f"robot0:{name}_gripper_finger_joint").qpos[0] = place
        turned = rotations.euler2quat(np.asarray(state[TURNED], dtype=np.float64))
        data.joint("object0:joint").qpos[:] = [*state[BLOCK], *turned]
        mujoco.mj_forward(model, data)

    def follow(self, state: np.ndarray, moved: Collection[str]) -> np.ndarray:
        """Keep the relative position and the two absolute positions consistent."""
        settled = state.copy()
        if "object_rel" not in moved:
            settled[RELATIVE] = state[BLOCK] - state[GRIPPER]
        elif "object_pos" not in moved:
            settled[BLOCK] = state[GRIPPER] + state[RELATIVE]
        return settled

    def show_goal(self, goal: np.ndarray, query: Query) -> None:
        """Move the red mark, and hide it if the query does not ask for the block's place."""
        asked = "object_pos" in {term.name for term in query.terms}
        self.inner.goal = np.asarray(goal, dtype=np.float64)[BLOCK]
        self.inner.model.site("target0").rgba[3] = 1.0 if asked else 0.0

    pushes = "block"

    def push(self, rng: np.random.Generator) -> None:
        """Let the block slide roughly towards the middle of the table."""
        joint = self.inner.data.joint("object0:joint")
        inwards = self.inner.initial_gripper_xpos[:2] - joint.qpos[:2]
        angle = np.arctan2(inwards[1], inwards[0]) + rng.uniform(-1, 1)
        joint.qvel[:2] += np.cos(angle), np.sin(angle)


# --- Data: a scripted player that moves to chosen places, with noise ------------------------------


def act(state: np.ndarray, place: np.ndarray, carries: bool, opens: bool) -> np.ndarray:
    """The action that moves the block, or the gripper alone, towards a place."""
    if not carries:
        return _towards(place - state[GRIPPER], opens)
    path = state[RELATIVE].copy()
    if np.linalg.norm(path) > 0.02:  # fetch it from above
        path[2] += 0.1 if np.linalg.norm(path[:2]) > 0.02 else 0.0
        return _towards(path, opens=True)
    if state[FINGERS].sum() > 2 * HALF_BLOCK + 0.005:  # close around it
        return _towards(path, opens=False)
    return _towards(place - state[BLOCK], opens=False)


def _towards(path: np.ndarray, opens: bool) -> np.ndarray:
    """A straight path: every step shows its target, so only the step's length is limited."""
    move = 10 * path
    return np.append(move / max(1.0, float(np.linalg.norm(move))), 1.0 if opens else -1.0)


def play(task: Task, episodes: int, seed: int) -> list[Episode]:
    """Make episodes. The noise helps: the player leaves its path and records how to return."""
    world, rng = task.open(), np.random.default_rng(seed)
    made: list[Episode] = []
    for number in range(episodes):
        place = world.start(len(GOALS), 1_000_000 * (seed + 1) + number).goal[BLOCK]
        (carries, opens), noise, held = rng.random(2) < 0.6, rng.uniform(0.0, 0.4), 0
        states, actions = [world.observation], []
        while len(actions) < task.horizon:
            action = act(states[-1], place, carries, opens) + noise * rng.standard_normal(4)
            if rng.random() < 0.05:
                action = rng.uniform(-1, 1, 4)
            actions.append(np.clip(action, -1, 1).astype(np.float32))
            states.append(world.step(actions[-1]).observation)
            held += _far(states[-1][BLOCK if carries else GRIPPER], place) < 0.03
            if held > 10:  # long enough: choose another place
                place = world.inner._sample_goal()
                (carries, opens), held = rng.random(2) < 0.6, 0
        made.append(Episode(np.stack(states), np.stack(actions)))
    world.close()
    return made


def _far(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.linalg.norm(a - b))


# --- The task -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FetchTask(Task):
    """Makes its environment and its data."""

    def make(self, **kwargs: Any) -> Any:
        """Import the library only now: commands that need no environment start faster."""
        import mujoco

        with contextlib.redirect_stderr(io.StringIO()):  # it prints notices about other robots
            from gymnasium_robotics.utils import mujoco_utils

        # Since MuJoCo 3.12, `number in (kind, kind)` is false for MuJoCo's enumerations.
        # Gymnasium-Robotics 1.4.2 relies on the old behaviour, so we give it plain numbers.
        kinds = {name: int(kind) for name, kind in mujoco.mjtJoint.__members__.items()}
        known = {**vars(mujoco), "mjtJoint": SimpleNamespace(**kinds)}
        mujoco_utils.mujoco = SimpleNamespace(**known)
        return super().make(**kwargs)

    @property
    def script(self) -> Script:
        """The data of this task; training makes it if there is none."""
        return Script(
            "Fetch, scripted with noise",
            functools.partial(play, self, EPISODES, 0),
            functools.partial(play, self, max(2, EPISODES // 10), 1),
        )


TASKS.add(
    "fetch-pick-v0",
    FetchTask(
        name="fetch-pick-v0",
        env_id="gymnasium_robotics:FetchPickAndPlace-v4",
        layout=LAYOUT,
        horizon=50,
        relabel_horizon=50,
        goals=tuple(GOALS),
        adapter=FetchAdapter,
        data_kind="noisy",
        action_range=(-1.0, 1.0),
        domain="Manipulation",
        scene=Scene(
            bounds=((1.05, 0.45, 0.42), (1.55, 1.05, 0.9)),
            grips=(("block", "object_pos"), ("gripper", "gripper_pos")),
            shows=((r"object0$", ("object_",)), (r"robot0:", ("gripper_", "finger"))),
        ),
    ),
)
