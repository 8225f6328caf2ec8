"""The layout of a tabletop state.

Positions are in decimetres around the centre of the table, as in OGBench's manipulation tasks. A
block has sides of 4 cm, so its centre is at a height of 0.2 when it rests. A state has 13
coordinates for the robot and five for each block.
"""

from __future__ import annotations

import functools

from goalsets.core import GoalsetsError, Group, StateLayout

ACTION_DIM = 5
"""Relative x, y, z, yaw and opening, each in [-1, 1]."""
MAX_BLOCKS = 2
ENV_IDS = {1: "goalsets/TabletopSingle-v0", 2: "goalsets/TabletopDouble-v0"}
"""Gymnasium ids by the number of blocks."""
HORIZONS = {1: 100, 2: 200}
"""The length of episodes by the number of blocks."""

JOINT_POS = slice(0, 3)
JOINT_VEL = slice(3, 6)
EFF_POS = slice(6, 9)
EFF_YAW = slice(9, 11)
OPENING = 11
CONTACT = 12
BLOCKS = slice(13, None)
"""The coordinates of all blocks: position (3), then cosine and sine of the yaw, block by block."""
BLOCK_DIM = 5


class TabletopError(GoalsetsError):
    """A wrong input to the tabletop world."""


def check_num_blocks(num_blocks: int) -> int:
    """Return `num_blocks` if there is a table with so many blocks; otherwise raise an error."""
    if num_blocks not in range(1, MAX_BLOCKS + 1):
        raise TabletopError(f"expected 1 to {MAX_BLOCKS} blocks, got {num_blocks!r}.")
    return num_blocks


def state_dim(num_blocks: int) -> int:
    """The number of coordinates of a state."""
    return BLOCKS.start + BLOCK_DIM * num_blocks


@functools.cache
def tabletop_layout(num_blocks: int = 1) -> StateLayout:
    """Return the layout of the table with one or two blocks."""
    check_num_blocks(num_blocks)
    groups = [*_robot_groups()]
    for block in range(num_blocks):
        groups += _block_groups(block)
    positions = " & ".join(f"block{block}_pos" for block in range(num_blocks))
    return StateLayout(
        dim=state_dim(num_blocks),
        groups=groups,
        aliases={
            "cube_pos": "block0_pos",
            "cube_yaw": "block0_yaw",
            "cube_pose": "block0_pos & block0_yaw",
            "ee_pos": "eff_pos",
            "ee_pose": "eff_pos & eff_yaw",
            "ee_pose_gripper": "eff_pos & eff_yaw & gripper_opening",
        },
        task=positions,
        name=f"tabletop-{'single' if num_blocks == 1 else 'double'}",
    )


def _robot_groups() -> list[Group]:
    return [
        Group(
            "joint_pos",
            range(0, 3),
            unit="rad",
            tolerance=0.2,
            description="Shoulder and elbow of the planar arm, and a swivel that drifts by itself.",
        ),
        Group(
            "joint_vel",
            range(3, 6),
            unit="rad/s",
            tolerance=0.5,
            description="Speed of the joints over the last step.",
        ),
        Group(
            "eff_pos",
            range(6, 9),
            unit="m",
            scale=10.0,
            tolerance=0.4,
            description="Where the gripper is.",
        ),
        Group(
            "eff_yaw", range(9, 11), "angle", unit="rad", description="Yaw of the gripper."
        ).with_tolerance("20deg"),
        Group(
            "gripper_opening",
            (OPENING,),
            "absolute",
            tolerance=0.1,
            description="0 when the jaws touch, 0.4 around a block, 1 when wide open.",
        ),
        Group(
            "gripper_contact",
            (CONTACT,),
            "absolute",
            tolerance=0.1,
            description="A noisy touch sensor: about 1 when a block is held.",
        ),
    ]


def _block_groups(block: int) -> list[Group]:
    start = state_dim(block)
    return [
        Group(
            f"block{block}_pos",
            range(start, start + 3),
            unit="m",
            scale=10.0,
            tolerance=0.4,
            description=f"Centre of block {block}.",
            kind="block*_pos",
            relative_to="eff_pos",
        ),
        Group(
            f"block{block}_yaw",
            range(start + 3, start + 5),
            "angle",
            unit="rad",
            description=f"Yaw of block {block}.",
            kind="block*_yaw",
            relative_to="eff_yaw",
        ).with_tolerance("20deg"),
    ]
