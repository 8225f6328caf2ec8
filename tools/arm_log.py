"""Make a log of a UR5e and train on it, for the picture of recorded episodes in docs/play.md.

    python tools/arm_log.py PLACE [STEPS]

Writes PLACE/ur5e, a store, and PLACE/run. The log is computed, not simulated: the arm moves from
pose to pose, at 10 steps a second, with joints in degrees, as robots report them. The model that
draws it comes with OGBench. Its path is printed, for 'goalsets play PLACE/run --model'.
"""

import itertools
import math
import sys
from pathlib import Path

import mujoco
import numpy as np
import ogbench

from goalsets import Episode
from goalsets.core import Group, StateLayout
from goalsets.data.writer import write_store
from goalsets.runs.config import TrainConfig
from goalsets.train.session import Pace, train

MODEL = Path(ogbench.__file__).parent / "manipspace/descriptions/universal_robots_ur5e/ur5e.xml"
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
HOME = np.array([-90.0, -90.0, 90.0, -90.0, -90.0, 0.0])
REACH = np.array([60.0, 25.0, 30.0, 30.0, 30.0, 60.0])
RATE, MOTIONS, MOTION, REST = 10.0, 3, 25, 5
LAYOUT = StateLayout(
    9,
    [
        *(
            Group(f"{name}.pos", [i], "absolute", "rad", math.degrees(1), 5.0)
            for i, name in enumerate(JOINTS)
        ),
        Group("tool_pos", [6, 7, 8], "euclidean", "m", 1.0, 0.04, "where the tool is"),
    ],
    aliases={"arm": " & ".join(f"{name}.pos" for name in JOINTS)},
    task="tool_pos",
    name="ur5e",
)


def record(count: int, seed: int) -> list[Episode]:
    """Episodes of a few smooth motions with noise; an action is a target position."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    data = mujoco.MjData(model)
    episodes = []
    for _ in range(count):
        poses = HOME + rng.uniform(-1, 1, (MOTIONS + 1, len(JOINTS))) * REACH
        share = (1 - np.cos(np.linspace(0, math.pi, MOTION + 1)[1:])) / 2
        way = [poses[0]]
        for start, end in itertools.pairwise(poses):
            way += [start + part * (end - start) for part in share] + [end] * REST
        way = np.array(way) + rng.normal(scale=0.15, size=(len(way), len(JOINTS)))
        tool = np.array([place(model, data, pose) for pose in way])
        states = np.concatenate([way, tool], axis=1).astype(np.float32)
        episodes.append(Episode(states, way[1:].astype(np.float32)))
    return episodes


def place(model: mujoco.MjModel, data: mujoco.MjData, degrees: np.ndarray) -> np.ndarray:
    """The position of the tool, in metres."""
    data.qpos[:] = np.deg2rad(degrees)
    mujoco.mj_kinematics(model, data)
    return data.site("attachment_site").xpos.copy()


def main(path: str, steps: str = "1500") -> None:
    """Make the store and the run."""
    here = Path(path)
    store = write_store(
        here / "ur5e",
        record(200, 0),
        record(12, 1),
        layout=LAYOUT,
        source="a UR5e that moves from pose to pose",
        rate=RATE,
    )
    config = TrainConfig(
        task=str(store.path),
        learner="gcdl",
        steps=int(steps),
        batch_size=256,
        horizon=MOTION + REST,
        hidden=128,
    )
    train(config, store, here / "run", pace=Pace())
    print(f"goalsets play {here / 'run'} --model {MODEL}")


if __name__ == "__main__":
    main(*sys.argv[1:])
