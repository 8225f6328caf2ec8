"""State layouts of the OGBench environments, in the coordinates that the environments return.

The scales are those of the installed environments' own code, which is the authority: positions are
decimetres around (0.425, 0, 0), the gripper opening is tripled, drawers count 18 and windows 15 to
the metre. Tolerances of task variables are the environments' own success radii; the others are what
the paper's appendix F uses, or the nearest sensible thing.
"""

from __future__ import annotations

from goalsets.core import Group, StateLayout

POSITION_SCALE = 10.0
DRAWER_SCALE = 18.0
WINDOW_SCALE = 15.0
BUTTON_SCALE = 120.0
SUCCESS_RADIUS = 0.04
"""Metres within which the manipulation environments count an object as placed."""


def cube_layout(cubes: int) -> StateLayout:
    """Layout of `cube-single-v0` and its larger relatives: the arm, then nine numbers a cube."""
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
        start = 28 + 4 * button
        groups += [
            Group(
                f"button{button}_state",
                (start, start + 1),
                "exact",
                description="one-hot: which of its two colours the button shows",
            ),
            Group(
                f"button{button}_pos",
                (start + 2,),
                "absolute",
                "m",
                BUTTON_SCALE,
                description="how far the button is pressed",
            ).with_tolerance("2mm"),
            Group(
                f"button{button}_vel",
                (start + 3,),
                "absolute",
                "m/s",
                tolerance=0.1,
                description="velocity of the button",
            ),
        ]
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
        # Of a one-hot pair the second coordinate says it all; the paper's query is this one.
        task="block0_pos & [29] & [33] & drawer_pos & window_pos",
        name="scene",
    )


def pointmaze_layout() -> StateLayout:
    """Layout of PointMaze: the position and nothing else."""
    position = Group("pos", (0, 1), unit="m", tolerance=1.0, description="position in the maze")
    return StateLayout(2, [position], task="pos", name="pointmaze")


def antmaze_layout() -> StateLayout:
    """Layout of AntMaze: the torso, then the legs in pairs of hip and ankle."""
    groups = [
        Group("root_xy", (0, 1), unit="m", tolerance=0.5, description="position in the maze"),
        Group("root_z", (2,), "absolute", "m", tolerance=0.1, description="height of the torso"),
        Group(
            "root_quat",
            range(3, 7),
            "quaternion",
            "rad",
            description="orientation of the torso",
        ).with_tolerance("20deg"),
    ]
    for leg, start in (
        ("front_left", 7),
        ("front_right", 9),
        ("back_left", 11),
        ("back_right", 13),
    ):
        groups.append(
            Group(
                f"{leg}_pos",
                (start, start + 1),
                unit="rad",
                tolerance=0.2,
                description=f"hip and ankle angles of the {leg.replace('_', ' ')} leg",
            )
        )
    groups += [
        Group("root_lin_vel", range(15, 18), unit="m/s", tolerance=0.5, description="velocity"),
        Group("root_ang_vel", range(18, 21), unit="rad/s", tolerance=1.0, description="spin"),
    ]
    for leg, start in (
        ("front_left", 21),
        ("front_right", 23),
        ("back_left", 25),
        ("back_right", 27),
    ):
        groups.append(
            Group(
                f"{leg}_vel",
                (start, start + 1),
                unit="rad/s",
                tolerance=1.0,
                description=f"hip and ankle velocities of the {leg.replace('_', ' ')} leg",
            )
        )
    return StateLayout(29, groups, task="root_xy", name="antmaze")


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
        ),
        Group(
            f"block{cube}_quat",
            range(start + 3, start + 7),
            "quaternion",
            "rad",
            description=f"orientation of cube {cube}",
        ).with_tolerance("20deg"),
        Group(
            f"block{cube}_yaw",
            (start + 7, start + 8),
            "angle",
            "rad",
            description=f"heading of cube {cube} (cos, sin)",
        ).with_tolerance("20deg"),
    ]


def _cube_aliases(cubes: int) -> dict[str, str]:
    """One cube is "the cube"; of several each gets a number."""
    if cubes == 1:
        return {
            "cube_pos": "block0_pos",
            "cube_yaw": "block0_yaw",
            "cube_pose": "block0_pos & block0_yaw",
        }
    return {f"cube{cube}_pose": f"block{cube}_pos & block{cube}_yaw" for cube in range(cubes)}
