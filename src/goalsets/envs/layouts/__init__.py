"""State layouts of the OGBench environments, in the coordinates that the environments return."""

from goalsets.envs.layouts.manipulation import (
    BUTTON_SCALE,
    CENTRE,
    DRAWER_SCALE,
    OPENING_SCALE,
    POSITION_SCALE,
    SUCCESS_RADIUS,
    WINDOW_SCALE,
    arm_follows,
    cube_layout,
    puzzle_layout,
    scene_layout,
)
from goalsets.envs.layouts.mazes import (
    antmaze_layout,
    antsoccer_layout,
    humanoidmaze_layout,
    pointmaze_layout,
)

__all__ = [
    "BUTTON_SCALE",
    "CENTRE",
    "DRAWER_SCALE",
    "OPENING_SCALE",
    "POSITION_SCALE",
    "SUCCESS_RADIUS",
    "WINDOW_SCALE",
    "antmaze_layout",
    "antsoccer_layout",
    "arm_follows",
    "cube_layout",
    "humanoidmaze_layout",
    "pointmaze_layout",
    "puzzle_layout",
    "scene_layout",
]
