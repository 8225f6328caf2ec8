"""A small arm in degrees, metres and seconds, and its logs in four formats.

Two joints turn towards a target by at most 12 degrees a step, 20 steps a second; a gripper opens
and closes. Commands are the next angles in degrees, and 0 or 1 for the gripper. So a command is no
small number around zero, and holding still means to repeat the angles that the joints have.
"""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests import with_lerobot

RATE = 20
LIMIT = 80.0
"""Degrees that joints turn to either side."""
SPEED = 12.0
"""Degrees that a joint turns in a step, at most."""
EPISODES, STEPS, TARGET = 40, 60, 6
"""Each target is there for so many steps."""


def tool(joints):
    """Where the tool is, in metres: two links of 30 and 20 cm."""
    first, second = np.radians(joints[..., 0]), np.radians(joints.sum(-1))
    return np.stack(
        [0.3 * np.cos(first) + 0.2 * np.cos(second), 0.3 * np.sin(first) + 0.2 * np.sin(second)], -1
    )


def record(seed):
    """An episode: joints `[T + 1, 2]`, gripper `[T + 1]`, commands `[T, 3]`."""
    rng = np.random.default_rng(seed)
    joints, gripper, commands = [rng.uniform(-LIMIT, LIMIT, 2)], [0.0], []
    target, grip = joints[0], 0.0
    for step in range(STEPS):
        if step % TARGET == 0:
            target, grip = rng.uniform(-LIMIT, LIMIT, 2), float(rng.integers(0, 2))
        command = joints[-1] + np.clip(target - joints[-1], -SPEED, SPEED)
        commands.append([*command, grip])
        joints.append(command)
        gripper.append(grip)
    return np.array(joints), np.array(gripper), np.array(commands)


def episodes():
    return [record(seed) for seed in range(EPISODES)]


def write_lerobot(place: Path) -> Path:
    """A LeRobotDataset, by LeRobot itself."""
    with_lerobot.run("tests.walk.lerobot_writer", str(place))
    return place


def write_minari(place: Path) -> Path:
    """A Minari data set, whose action space is wider than the log."""
    minari = pytest.importorskip("minari")
    spaces = pytest.importorskip("gymnasium").spaces
    wide = {"joints": 2, "gripper": 1, "tool": 2}
    buffers = [
        minari.data_collector.EpisodeBuffer(
            id=number,
            observations={"joints": joints, "gripper": gripper[:, None], "tool": tool(joints)},
            actions=commands,
            rewards=[0.0] * STEPS,
            terminations=[False] * STEPS,
            truncations=[False] * (STEPS - 1) + [True],
        )
        for number, (joints, gripper, commands) in enumerate(episodes())
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Minari would like to know authors and more
        made = minari.create_dataset_from_buffers(
            "walk/arm-v0",
            buffers,
            observation_space=spaces.Dict(
                {k: spaces.Box(-np.inf, np.inf, (n,), np.float64) for k, n in wide.items()}
            ),
            action_space=spaces.Box(
                np.array([-90.0, -90.0, 0.0]), np.array([90.0, 90.0, 1.0]), dtype=np.float64
            ),
        )
    return Path(made.storage.data_path).parent


def write_csv(place: Path) -> Path:
    """One CSV file an episode, with the units in the names of the columns."""
    place.mkdir()
    columns = ["time", "joint_1_deg", "joint_2_deg", "tool.x", "tool.y", "gripper"]
    columns += ["action_joint_1", "action_joint_2", "action_gripper"]
    for number, (joints, gripper, commands) in enumerate(episodes()):
        with (place / f"run_{number:02}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            rows = zip(joints, tool(joints), gripper, commands, strict=False)
            for step, (angles, xy, grip, command) in enumerate(rows):
                writer.writerow([step / RATE, *angles, *xy, grip, *command])
    return place


def write_mcap(place: Path) -> Path:
    """One MCAP file an episode: joints at 100 messages a second, commands at 20."""
    mcap = pytest.importorskip("mcap.writer", reason="needs mcap, of the extra 'ros'")
    place.mkdir()
    for number, (joints, gripper, commands) in enumerate(episodes()):
        with (place / f"run_{number:02}.mcap").open("wb") as file:
            writer = mcap.Writer(file)
            writer.start()
            channels = {}
            for topic in ("/joints", "/tool", "/gripper", "/command"):
                schema = writer.register_schema(topic[1:], "jsonschema", b'{"type": "object"}')
                channels[topic] = writer.register_channel(topic, "json", schema)

            def send(topic, seconds, message, writer=writer, channels=channels):
                time = 1_760_000_000_000_000_000 + round(seconds * 1e9)
                writer.add_message(channels[topic], time, json.dumps(message).encode(), time)

            fine = np.arange(0, STEPS + 1e-9, RATE / 100)  # in steps
            between = np.stack([np.interp(fine, np.arange(STEPS + 1), c) for c in joints.T], -1)
            for at, angles in zip(fine, between, strict=True):
                send("/joints", at / RATE, {"position": angles.tolist()})
                send("/tool", at / RATE, {"position": tool(angles).tolist()})
            for step in range(STEPS + 1):
                send("/gripper", step / RATE, {"data": bool(gripper[step])})
                if step < STEPS:
                    send("/command", step / RATE, {"data": commands[step].tolist()})
            writer.finish()
    return place
