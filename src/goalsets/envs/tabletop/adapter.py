"""The adapter of the tabletop: it draws any state, and can be set to any state."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from goalsets.core import Query
from goalsets.envs.adapter import SIDE, Adapter, Floats, Picture, State
from goalsets.envs.landscape import GRID, Plane
from goalsets.envs.layouts import arm_follows
from goalsets.envs.tabletop.layout import BLOCKS, EFF_POS, JOINT_POS
from goalsets.envs.tabletop.render import render_state
from goalsets.envs.tabletop.states import WORKSPACE, arm_joints, blocks_of

_BLOCK_JUMP = 0.8


class TabletopAdapter(Adapter):
    """One tabletop."""

    def put(self, state: State) -> None:
        """Set the world to a full state."""
        self.observation = np.array(state, dtype=np.float32)
        self.inner.set_state(self.observation)

    def look(self) -> Floats:
        """Observe the world."""
        return self.inner.observe()

    def render(self, size: int = SIDE) -> Picture:
        """Draw the current state."""
        return self.draw(self.observation, None, None, size)

    def draw(
        self, observation: State, goal: State | None, query: Query | None, size: int = SIDE
    ) -> Picture:
        """Draw the table from above and from the side, with the goal of the query."""
        return render_state(observation, goal, query=query, width=size)

    @property
    def pushes(self) -> str | None:
        """A block."""
        return "block"

    def push(self, rng: np.random.Generator) -> None:
        """Move a block."""
        state = self.observation.copy()
        block = blocks_of(state)[rng.integers(self.inner.num_blocks)]
        angle = rng.uniform(-np.pi, np.pi)
        there = block[:2] + _BLOCK_JUMP * np.array([np.cos(angle), np.sin(angle)])
        block[:2] = np.clip(there, *WORKSPACE[:, :2])
        self.put(state)

    def follow(self, state: Floats, moved: Collection[str]) -> Floats:
        """Let the two links follow the gripper."""
        if not arm_follows(moved):
            return state
        brought = state.copy()
        brought[JOINT_POS][:2] = arm_joints(state[None, EFF_POS])[0]
        return brought


def table_planes(first: Floats, goal: Floats) -> list[Plane]:
    """Planes in which only the block or the gripper moves; everything else is as at the start."""
    x = np.linspace(WORKSPACE[0][0], WORKSPACE[1][0], GRID // 2, dtype=np.float32)
    y = np.linspace(WORKSPACE[0][1], WORKSPACE[1][1], GRID // 2, dtype=np.float32)
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
    free = np.zeros((len(y), len(x)), dtype=bool)
    planes: list[Plane] = []
    for label, start in (("block moved", BLOCKS.start), ("gripper moved", EFF_POS.start)):
        states = np.repeat(first[None], len(places), axis=0)
        states[:, start : start + 2] = places
        # Only the arm's joints follow the gripper.
        states[:, JOINT_POS][:, :2] = arm_joints(states[:, EFF_POS])
        aim = (float(goal[start]), float(goal[start + 1]))
        planes.append(Plane(label, "dm", x, y, states, goal, aim, free))
    return planes
