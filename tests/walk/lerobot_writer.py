"""Writes the arm's logs with LeRobot's own writer, in a process that tests.with_lerobot starts."""

from __future__ import annotations

import sys

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.datasets.utils import hw_to_dataset_features

from tests.walk import robot

JOINTS = ("joint_1.pos", "joint_2.pos", "gripper.pos")


def write(place: str) -> None:
    """Record the episodes frame by frame, as LeRobot's recording does."""
    hardware = dict.fromkeys(JOINTS, float)
    features = {
        **hw_to_dataset_features(hardware, "observation"),
        "observation.tool": {"dtype": "float32", "shape": (2,), "names": None},
        **hw_to_dataset_features(hardware, "action"),
    }
    data = LeRobotDataset.create(
        "walk/arm", fps=robot.RATE, features=features, root=place, use_videos=False
    )
    for joints, gripper, commands in robot.episodes():
        states = np.column_stack([joints, gripper]).astype(np.float32)
        tools = robot.tool(joints).astype(np.float32)
        for state, tool, command in zip(states, tools, commands.astype(np.float32), strict=False):
            data.add_frame(
                {
                    "observation.state": state,
                    "observation.tool": tool,
                    "action": command,
                    "task": "play",
                }
            )
        data.save_episode()
    data.finalize()


if __name__ == "__main__":
    write(*sys.argv[1:])
