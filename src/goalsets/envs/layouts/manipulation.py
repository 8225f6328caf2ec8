"""Layouts of the manipulation environments: cube, scene and puzzle.

The scales are those of the installed environments' code. Positions are in decimetres around
(0.425, 0, 0). The gripper opening is multiplied by 3, the drawer's position in metres by 18, and
the window's by 15. Tolerances of task variables are the success radii of the environments. Other
tolerances are those of the paper's appendix F; where it gives none, they are our choice.
"""

from __future__ import annotations

from collections.abc import Collection

from goalsets.core import Group, StateLayout

POSITION_SCALE = 10.0
CENTRE = (0.425, 0.0, 0.0)
"""The origin of positions, in metres."""
OPENING_SCALE = 3.0
DRAWER_SCALE = 18.0
WINDOW_SCALE = 15.0
BUTTON_SCALE = 120.0
SUCCESS_RADIUS = 0.04
"""The manipulation environments count an object as placed within this distance, in metres."""


def arm_follows(moved: Collection[str]) -> bool:
    """Whether the joints must follow: the user moved the gripper and not the joints."""
    return not {"eff_pos", "eff_yaw"}.isdisjoint(moved) and "joint_pos" not in moved


def cube_layout(cubes: int) -> StateLayout:
    """Layout of `cube-single-v0` and its larger variants: the arm, then nine numbers a cube."""
    groups = _arm_groups()
    for cube in range(cubes):
        groups.extend(_cube_groups(cube, 19 + 9 * cube))
    return StateLayout(
        dim=19 + 9 * cubes,
        groups=groups,
        aliases={**_ARM_ALIASES, **_cube_aliases(cubes)},
        task=" & ".join(f"block{cube}_pos" for cube in range(cubes)),
        name=f"cube-{cubes}",
    )


def scene_layout() -> StateLayout:
    """Layout of `scene-v0`: the arm, one cube, two lock buttons, a drawer and a window."""
    groups = [*_arm_groups(), *_cube_groups(0, 19)]
    for button in range(2):
        groups.extend(_button_groups(button, 28 + 4 * button))
    for name, start, scale in (("drawer", 36, DRAWER_SCALE), ("window", 38, WINDOW_SCALE)):
        groups += [
            Group(
                f"{name}_pos",
                (start,),
                "absolute",
                "m",
                scale,
                tolerance=SUCCESS_RADIUS * scale,
                description=f"how far the {name} is open",
            ),
            Group(
                f"{name}_vel",
                (start + 1,),
                "absolute",
                "m/s",
                tolerance=0.1,
                description=f"velocity of the {name}",
            ),
        ]
    return StateLayout(
        dim=40,
        groups=groups,
        aliases={
            **_ARM_ALIASES,
            **_cube_aliases(1),
            "buttons": "button0_state & button1_state",
        },
        # The second coordinate of a one-hot pair determines the first. This is the paper's query.
        task="block0_pos & [29] & [33] & drawer_pos & window_pos",
        name="scene",
    )


def puzzle_layout(rows: int, columns: int) -> StateLayout:
    """Layout of `puzzle-3x3-v0` and its larger variants: the arm, then four numbers a button.

    Buttons are counted along the rows. Pressing one also changes its neighbours.
    """
    buttons = range(rows * columns)
    groups = _arm_groups()
    for button in buttons:
        groups.extend(_button_groups(button, 19 + 4 * button))
    states = [f"button{button}_state" for button in buttons]
    aliases = {
        f"row{row}": " & ".join(states[row * columns : (row + 1) * columns]) for row in range(rows)
    }
    return StateLayout(
        dim=19 + 4 * len(buttons),
        groups=groups,
        aliases={**_ARM_ALIASES, **aliases, "buttons": " & ".join(states)},
        # As in `scene`, the second coordinate of a one-hot pair is enough.
        task=f"[{','.join(str(20 + 4 * button) for button in buttons)}]",
        name=f"puzzle-{rows}x{columns}",
    )


_ARM_ALIASES = {
    "ee_pos": "eff_pos",
    "ee_pose": "eff_pos & eff_yaw",
    "ee_pose_gripper": "eff_pos & eff_yaw & gripper_opening",
}


def _arm_groups() -> list[Group]:
    return [
        Group("joint_pos", range(6), unit="rad", tolerance=0.2, description="arm joint angles"),
        Group(
            "joint_vel",
            range(6, 12),
            unit="rad/s",
            tolerance=0.5,
            description="arm joint velocities",
        ),
        Group(
            "eff_pos",
            range(12, 15),
            unit="m",
            scale=POSITION_SCALE,
            tolerance=SUCCESS_RADIUS * POSITION_SCALE,
            description="position of the point between the fingers",
        ),
        Group(
            "eff_yaw", (15, 16), "angle", "rad", description="heading of the gripper (cos, sin)"
        ).with_tolerance("20deg"),
        Group(
            "gripper_opening",
            (17,),
            "absolute",
            tolerance=0.1,
            description="0 is open, 3 is closed",
        ),
        Group(
            "gripper_contact",
            (18,),
            "absolute",
            tolerance=0.1,
            description="force on a finger pad, 0 to 1",
        ),
    ]


def _cube_groups(cube: int, start: int) -> list[Group]:
    return [
        Group(
            f"block{cube}_pos",
            range(start, start + 3),
            unit="m",
            scale=POSITION_SCALE,
            tolerance=SUCCESS_RADIUS * POSITION_SCALE,
            description=f"position of cube {cube}",
            kind="block*_pos",
            relative_to="eff_pos",
        ),
        Group(
            f"block{cube}_quat",
            range(start + 3, start + 7),
            "quaternion",
            "rad",
            description=f"orientation of cube {cube}",
            kind="block*_quat",
        ).with_tolerance("20deg"),
        Group(
            f"block{cube}_yaw",
            (start + 7, start + 8),
            "angle",
            "rad",
            description=f"heading of cube {cube} (cos, sin)",
            kind="block*_yaw",
            relative_to="eff_yaw",
        ).with_tolerance("20deg"),
    ]


def _button_groups(button: int, start: int) -> list[Group]:
    return [
        Group(
            f"button{button}_state",
            (start, start + 1),
            "exact",
            description="one-hot: which of its two colours the button shows",
            kind="button*_state",
        ),
        Group(
            f"button{button}_pos",
            (start + 2,),
            "absolute",
            "m",
            BUTTON_SCALE,
            description="how far the button is pressed",
            kind="button*_pos",
        ).with_tolerance("2mm"),
        Group(
            f"button{button}_vel",
            (start + 3,),
            "absolute",
            "m/s",
            tolerance=0.1,
            description="velocity of the button",
            kind="button*_vel",
        ),
    ]


def _cube_aliases(cubes: int) -> dict[str, str]:
    """Aliases for cubes: without a number if there is one cube, else with its number."""
    if cubes == 1:
        return {
            "cube_pos": "block0_pos",
            "cube_yaw": "block0_yaw",
            "cube_pose": "block0_pos & block0_yaw",
        }
    return {f"cube{cube}_pose": f"block{cube}_pos & block{cube}_yaw" for cube in range(cubes)}
