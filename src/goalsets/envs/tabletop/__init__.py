"""Tabletop: a tiny point-and-block world that a learner solves in seconds.

A gripper with yaw and opening moves above a table and grasps one or two blocks. Thousands of copies
are stepped together on one core, and a scripted player makes a data set in a second. It replaces
OGBench's cube environments in tests and in teaching. Importing this package registers
`goalsets/TabletopSingle-v0` and `goalsets/TabletopDouble-v0` with Gymnasium, if it is installed.
"""

from goalsets.envs.tabletop.behaviour import Recording, record_play
from goalsets.envs.tabletop.layout import ENV_IDS, HORIZONS, TabletopError, tabletop_layout
from goalsets.envs.tabletop.oracle import Oracle
from goalsets.envs.tabletop.render import render_state
from goalsets.envs.tabletop.states import build_states, held_blocks
from goalsets.envs.tabletop.streams import Streams
from goalsets.envs.tabletop.tasks import (
    TabletopTask,
    goal_states,
    official_task,
    official_tasks,
    start_states,
    start_tasks,
)
from goalsets.envs.tabletop.world import TabletopWorld

try:
    from goalsets.envs.tabletop.env import TabletopEnv, register_envs
except ModuleNotFoundError as error:  # layout, states and recordings work without Gymnasium
    if error.name != "gymnasium":
        raise
else:
    register_envs()

__all__ = [
    "ENV_IDS",
    "HORIZONS",
    "Oracle",
    "Recording",
    "Streams",
    "TabletopEnv",
    "TabletopError",
    "TabletopTask",
    "TabletopWorld",
    "build_states",
    "goal_states",
    "held_blocks",
    "official_task",
    "official_tasks",
    "record_play",
    "register_envs",
    "render_state",
    "start_states",
    "start_tasks",
    "tabletop_layout",
]
