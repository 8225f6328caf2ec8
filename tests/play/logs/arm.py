"""An arm of two joints that was recorded: its models, its log, and runs on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from goalsets.core import Episode, Group, StateLayout
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run
from goalsets.train.session import Pace, train

RATE = 10.0
LINKS = (0.3, 0.2)
MJCF = """<mujoco><worldbody>
  <geom name="table" type="plane" size="1 1 .1"/>
  <body name="upper"><joint name="shoulder_joint" axis="0 0 1" range="-180 180"/>
    <geom type="capsule" size=".02" fromto="0 0 .05 .3 0 .05" rgba=".3 .4 .6 1"/>
    <body name="lower" pos=".3 0 0"><joint name="elbow_joint" axis="0 0 1" range="-180 180"/>
      <geom type="capsule" size=".015" fromto="0 0 .05 .2 0 .05" rgba=".7 .5 .3 1"/>
      <body name="jaw" pos=".2 0 .05"><joint name="jaw_joint" type="slide" axis="0 1 0"/>
        <geom type="box" size=".02 .005 .02"/></body>
    </body>
  </body>
</worldbody></mujoco>"""
URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><visual><origin xyz=".15 0 .05"/><geometry><box size=".3 .04 .04"/></geometry>
    </visual><collision><geometry><box size=".5 .5 .5"/></geometry></collision></link>
  <link name="lower"><visual><origin xyz=".1 0 .05"/><geometry><box size=".2 .03 .03"/></geometry>
    </visual></link>
  <joint name="shoulder_joint" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 0 1"/><limit lower="-3.2" upper="3.2" effort="1" velocity="1"/></joint>
  <joint name="elbow_joint" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz=".3 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3.2" upper="3.2" effort="1" velocity="1"/></joint>
</robot>"""

LAYOUT = StateLayout(
    5,
    [
        Group("shoulder.pos", [0], "absolute", tolerance=5.0, description="in degrees"),
        Group("elbow.pos", [1], "absolute", "rad", tolerance=0.1),
        Group("hand", [2, 3], "euclidean", "m", tolerance=0.04, description="where the hand is"),
        Group("grip", [4], "exact"),
    ],
    aliases={"arm": "shoulder.pos & elbow.pos"},
    task="hand",
    name="arm",
)


def hand_of(shoulder: np.ndarray, elbow: np.ndarray) -> np.ndarray:
    """Where the hand is `[..., 2]`, of degrees and radians."""
    one = np.deg2rad(shoulder)
    both = one + elbow
    x = LINKS[0] * np.cos(one) + LINKS[1] * np.cos(both)
    y = LINKS[0] * np.sin(one) + LINKS[1] * np.sin(both)
    return np.stack([x, y], axis=-1)


def record(count: int, seed: int, steps: int = 40) -> list[Episode]:
    """Episodes that go straight to a random pose and stay there; actions in degrees and radians."""
    rng = np.random.default_rng(seed)
    episodes: list[Episode] = []
    for _ in range(count):
        start = rng.uniform((-90.0, -1.5), (90.0, 1.5))
        goal = rng.uniform((-90.0, -1.5), (90.0, 1.5))
        share = np.clip(np.arange(steps + 1) / (steps * 0.7), 0, 1)[:, None]
        pose = start + share * (goal - start)
        grip = (share > 0.5).astype(float)
        states = np.concatenate([pose, hand_of(pose[:, 0], pose[:, 1]), grip], axis=1)
        actions = np.concatenate([np.diff(pose, axis=0), grip[1:]], axis=1)
        episodes.append(Episode(states.astype(np.float32), actions.astype(np.float32)))
    return episodes


def make_store(path: Path, held_out: int = 4, layout: StateLayout = LAYOUT) -> Store:
    return write_store(
        path, record(60, 0), record(held_out, 1), layout=layout, source="my arm", rate=RATE
    )


def make_run(path: Path, store: Store, learner: str = "gcdl", steps: int = 3) -> Run:
    config = TrainConfig(
        task=str(store.path), learner=learner, steps=steps, batch_size=64, horizon=40, hidden=32
    )
    return train(config, store, path, pace=Pace())
