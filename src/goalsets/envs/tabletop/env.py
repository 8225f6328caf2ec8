"""The tabletop as a Gymnasium environment with five official tasks."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, Query, StateLayout
from goalsets.envs.tabletop.layout import (
    ACTION_DIM,
    BLOCKS,
    CONTACT,
    EFF_POS,
    EFF_YAW,
    ENV_IDS,
    HORIZONS,
    JOINT_POS,
    JOINT_VEL,
    OPENING,
    check_num_blocks,
    state_dim,
    tabletop_layout,
)
from goalsets.envs.tabletop.render import render_state
from goalsets.envs.tabletop.states import Float, blocks_of
from goalsets.envs.tabletop.tasks import (
    NUM_TASKS,
    TabletopTask,
    official_task,
    official_tasks,
    start_tasks,
)
from goalsets.envs.tabletop.world import TabletopWorld


class TabletopEnv(gymnasium.Env[NDArray[Any], NDArray[Any]]):
    """One tabletop; the goal is to bring all blocks to given places.

    An observation is the full state. `reset` takes `options={"task_id": 1 to 5}`; without it, it
    draws one of the five tasks. It returns the full goal state as `info["goal"]`. `step` reports in
    `info["success"]` whether the state is in the goal set of the layout's task query. The reward is
    the same number, and success ends the episode.

    Args:
        num_blocks: 1 or 2.
        render_mode: None or `"rgb_array"`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, num_blocks: int = 1, render_mode: str | None = None) -> None:
        """Build the spaces; `reset` builds the world."""
        self.num_blocks = check_num_blocks(num_blocks)
        self.render_mode = render_mode
        self.observation_space = _observation_space(num_blocks)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (ACTION_DIM,), np.float32)
        self._query = Query.parse("task", self.layout)
        self._world: TabletopWorld | None = None
        self._goal_set: GoalSet | None = None

    @property
    def layout(self) -> StateLayout:
        """The layout of the observations."""
        return tabletop_layout(self.num_blocks)

    @property
    def task_infos(self) -> tuple[TabletopTask, ...]:
        """The five official tasks; task id 1 is the first."""
        return official_tasks(self.num_blocks)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float, dict[str, Any]]:
        """Start an episode and return the observation and the goal."""
        super().reset(seed=seed)
        task_id = (options or {}).get("task_id")
        if task_id is None:
            task_id = int(self.np_random.integers(1, NUM_TASKS + 1))
        task = official_task(task_id, self.num_blocks)
        self._world, goals = start_tasks([task], self.np_random)
        self._goal_set = GoalSet(goals[0], self._query)
        info = {"goal": goals[0].copy(), "task_id": task_id, "task_name": task.name}
        return self._world.observe()[0], info

    def step(self, action: Float) -> tuple[Float, float, bool, bool, dict[str, Any]]:
        """Apply an action `[5]`; success ends the episode."""
        if self._world is None or self._goal_set is None:
            raise gymnasium.error.ResetNeeded("call reset() before step().")
        observation = self._world.step(np.asarray(action)[None])[0]
        success = float(self._goal_set.contains(observation))
        return observation, success, success > 0, False, {"success": success}

    def set_state(self, observation: Float) -> None:
        """Set the world to a full observation `[D]`, to draw it or to continue from it."""
        if self._world is None:
            self._world = TabletopWorld(1, self.num_blocks, self.np_random)
        self._world.set_state(observation)

    def observe(self) -> Float:
        """The current state `[D]` of the world."""
        if self._world is None:
            raise gymnasium.error.ResetNeeded("call reset() before observe().")
        return self._world.observe()[0]

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Return a picture `uint8[H, W, 3]` of the state and, as a ghost, of the goal."""
        if self.render_mode is None or self._world is None:
            return None
        goal = None if self._goal_set is None else self._goal_set.reference
        return render_state(self._world.observe()[0], goal, query=self._query)


def register_envs() -> None:
    """Register the environments with Gymnasium; `goalsets.envs.tabletop` does this on import."""
    for num_blocks, env_id in ENV_IDS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point="goalsets.envs.tabletop.env:TabletopEnv",
                max_episode_steps=HORIZONS[num_blocks],
                kwargs={"num_blocks": num_blocks},
            )


def _observation_space(num_blocks: int) -> gymnasium.spaces.Box:
    """Bounds that no state exceeds; a carried block may be a little outside the workspace."""
    high = np.empty(state_dim(num_blocks), dtype=np.float32)
    high[JOINT_POS] = np.pi
    high[JOINT_VEL] = 10.0
    high[EFF_POS] = 3.0
    high[EFF_YAW] = 1.1
    high[OPENING] = 1.1
    high[CONTACT] = 2.0
    high[BLOCKS] = 3.0
    blocks_of(high)[:, 3:] = 1.1
    return gymnasium.spaces.Box(-high, high, dtype=np.float32)
