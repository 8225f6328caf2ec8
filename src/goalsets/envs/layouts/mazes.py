"""Layouts of the maze environments: a point, an ant, a humanoid, and an ant with a ball.

Coordinates are not scaled. The tolerance of a position in the maze is the environment's success
radius: 1 m for the point, 0.5 m for the ant, the humanoid and the ball. Other tolerances are our
choice.
"""

from __future__ import annotations

from goalsets.core import Group, StateLayout

_LEGS = ("front_left", "front_right", "back_left", "back_right")


def pointmaze_layout() -> StateLayout:
    """Layout of PointMaze: only the position."""
    position = Group("pos", (0, 1), unit="m", tolerance=1.0, description="position in the maze")
    return StateLayout(2, [position], task="pos", name="pointmaze")


def antmaze_layout() -> StateLayout:
    """Layout of AntMaze: the torso, then the legs in pairs of hip and ankle."""
    groups = [*_ant_positions(), *_ant_velocities(15)]
    return StateLayout(29, groups, aliases=_ANT_ALIASES, task="root_xy", name="antmaze")


def antsoccer_layout() -> StateLayout:
    """Layout of AntSoccer: all positions, the ant's before the ball's, then all velocities."""
    groups = [
        *_ant_positions(),
        Group(
            "ball_xy",
            (15, 16),
            unit="m",
            tolerance=0.5,
            description="ball in the maze",
            relative_to="root_xy",
        ),
        Group("ball_z", (17,), "absolute", "m", tolerance=0.1, description="height of the ball"),
        Group(
            "ball_quat", range(18, 22), "quaternion", "rad", description="orientation of the ball"
        ).with_tolerance("20deg"),
        *_ant_velocities(22),
        Group("ball_lin_vel", range(36, 39), unit="m/s", tolerance=0.5, description="ball speed"),
        Group("ball_ang_vel", range(39, 42), unit="rad/s", tolerance=1.0, description="ball spin"),
    ]
    aliases = {
        **_ANT_ALIASES,
        "with_ball": "root_xy & ball_xy",
        "ball_at_rest": "ball_xy & ball_lin_vel",
    }
    return StateLayout(42, groups, aliases=aliases, task="ball_xy", name="antsoccer")


def humanoidmaze_layout() -> StateLayout:
    """Layout of HumanoidMaze: joints and limbs relative to the torso, then all velocities.

    The environment observes neither the height of the root nor its heading. It observes the height
    of the head and the vertical direction instead.
    """
    limbs = ("left_hand", "left_foot", "right_hand", "right_foot")
    groups = [
        Group("root_xy", (0, 1), unit="m", tolerance=0.5, description="position in the maze"),
        *_humanoid_joints("pos", 2, "rad", 0.2, "angles"),
        Group("head_z", (23,), "absolute", "m", tolerance=0.1, description="height of the head"),
        *(
            Group(
                f"{limb}_pos",
                range(24 + 3 * number, 27 + 3 * number),
                unit="m",
                tolerance=0.1,
                description=f"{limb.replace('_', ' ')} as seen from the torso",
            )
            for number, limb in enumerate(limbs)
        ),
        Group("upright", range(36, 39), tolerance=0.2, description="up, as seen from the torso"),
        Group("com_vel", range(39, 42), unit="m/s", tolerance=0.5, description="velocity, of all"),
        Group("root_lin_vel", range(42, 45), unit="m/s", tolerance=0.5, description="velocity"),
        Group("root_ang_vel", range(45, 48), unit="rad/s", tolerance=1.0, description="spin"),
        *_humanoid_joints("vel", 48, "rad/s", 1.0, "velocities"),
    ]
    aliases = {
        "standing": "head_z & upright",
        "standing_there": "root_xy & head_z & upright",
        "hands": "left_hand_pos & right_hand_pos",
        "feet": "left_foot_pos & right_foot_pos",
    }
    return StateLayout(69, groups, aliases=aliases, task="root_xy", name="humanoidmaze")


_ANT_ALIASES = {
    "torso_pose": "root_xy & root_z & root_quat",
    "posture": " & ".join(("root_z", "root_quat", *(f"{leg}_pos" for leg in _LEGS))),
}


def _ant_positions() -> list[Group]:
    """The torso, and the legs in pairs of hip and ankle: coordinates 0 to 14."""
    return [
        Group("root_xy", (0, 1), unit="m", tolerance=0.5, description="position in the maze"),
        Group("root_z", (2,), "absolute", "m", tolerance=0.1, description="height of the torso"),
        Group(
            "root_quat",
            range(3, 7),
            "quaternion",
            "rad",
            description="orientation of the torso",
        ).with_tolerance("20deg"),
        *_ant_legs("pos", 7, "rad", 0.2, "angles"),
    ]


def _ant_velocities(start: int) -> list[Group]:
    """The velocities of the torso and of the legs, from coordinate `start` on."""
    linear, angular = range(start, start + 3), range(start + 3, start + 6)
    return [
        Group("root_lin_vel", linear, unit="m/s", tolerance=0.5, description="velocity"),
        Group("root_ang_vel", angular, unit="rad/s", tolerance=1.0, description="spin"),
        *_ant_legs("vel", start + 6, "rad/s", 1.0, "velocities"),
    ]


def _ant_legs(kind: str, start: int, unit: str, tolerance: float, what: str) -> list[Group]:
    return [
        Group(
            f"{leg}_{kind}",
            (start + 2 * number, start + 2 * number + 1),
            unit=unit,
            tolerance=tolerance,
            description=f"hip and ankle {what} of the {leg.replace('_', ' ')} leg",
        )
        for number, leg in enumerate(_LEGS)
    ]


def _humanoid_joints(kind: str, start: int, unit: str, tolerance: float, what: str) -> list[Group]:
    """The joints by limb; angles and velocities have the same order."""
    sizes = {"abdomen": 3, "right_leg": 6, "left_leg": 6, "right_arm": 3, "left_arm": 3}
    groups: list[Group] = []
    for limb, size in sizes.items():
        groups.append(
            Group(
                f"{limb}_{kind}",
                range(start, start + size),
                unit=unit,
                tolerance=tolerance,
                description=f"joint {what} of the {limb.replace('_', ' ')}",
            )
        )
        start += size
    return groups
