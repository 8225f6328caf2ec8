"""Bags of a small arm, written by the writers of rosbags, mcap and mcap-ros2-support."""

from __future__ import annotations

import json

import numpy as np
import pytest

rosbags = pytest.importorskip("rosbags.rosbag2", reason="needs rosbags, of the extra 'ros'")
rosbag1 = pytest.importorskip("rosbags.rosbag1")
typesys = pytest.importorskip("rosbags.typesys")
mcap = pytest.importorskip("mcap.writer", reason="needs mcap, of the extra 'ros'")

START = 1_760_000_000_000_000_000
"""Nanoseconds since 1970, as clocks have them: floats cannot tell them apart."""
JOINTS = ["shoulder", "elbow"]


def position(seconds):
    """Where the joints are; straight lines, so that interpolation is exact."""
    return np.array([0.5 + 0.25 * seconds, -1.0 * seconds])


def command(number):
    """The command that the n-th message brings."""
    return np.array([float(number), 10.0 - number])


def quaternion(angle):
    return np.array([0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)])


def timeline(seconds=2.0):
    """Topic, time in seconds and content: joints at 100 Hz, a pose at 30 Hz, commands at 10 Hz."""
    events = [("/joint_states", t, {"at": t}) for t in np.arange(0.0, seconds + 1e-9, 0.01)]
    events += [("/tool", t, {"at": t}) for t in np.arange(0.005, seconds - 0.1, 1 / 30)]
    events += [("/command", n / 10, {"n": n}) for n in range(1, int(seconds * 10))]
    events += [("/grip", t, {"shut": bool(t > 1)}) for t in np.arange(0.0, seconds, 0.5)]
    return sorted(events, key=lambda event: event[1])


def contents(topic, told):
    """The fields of a message, as JSON and mcap-ros2-support take them."""
    at = told.get("at", 0.0)
    nanoseconds = START + round(at * 1e9)
    stamp = {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}
    header = {"stamp": stamp, "frame_id": "base"}
    if topic == "/joint_states":
        empty = {"velocity": [0.0, 0.0], "effort": []}
        return {"header": header, "name": JOINTS, "position": position(at).tolist(), **empty}
    if topic == "/tool":
        turn = dict(zip("xyzw", quaternion(at).tolist(), strict=True))
        place = {"x": at, "y": 2 * at, "z": 0.5}
        return {"header": header, "pose": {"position": place, "orientation": turn}}
    if topic == "/command":
        return {"layout": {"dim": [], "data_offset": 0}, "data": command(told["n"]).tolist()}
    return {"data": told["shut"]}


TYPES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/tool": "geometry_msgs/msg/PoseStamped",
    "/command": "std_msgs/msg/Float64MultiArray",
    "/grip": "std_msgs/msg/Bool",
}


def build(store, kind, plain):
    """A message of rosbags from plain fields."""
    fields = {}
    for name, (node, details) in store.fielddefs[kind][1]:
        value = plain[name]
        if node == typesys.base.Nodetype.NAME:
            value = build(store, details, value)
        elif node == typesys.base.Nodetype.SEQUENCE and details[0][0] == typesys.base.Nodetype.BASE:
            value = value if details[0][1][0] == "string" else np.array(value)
        fields[name] = value
    return store.types[kind](**fields)


def write_bag(path, plugin="SQLITE3", events=None, one=False):
    """Let rosbags write a directory for ROS 2, or a file for ROS 1."""
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC if one else typesys.Stores.ROS2_HUMBLE)
    if one:
        writer = rosbag1.Writer(path)
    else:
        writer = rosbags.Writer(path, version=8, storage_plugin=rosbags.StoragePlugin[plugin])
    serialize = store.serialize_ros1 if one else store.serialize_cdr
    with writer as bag:
        topics = {t: bag.add_connection(t, k, typestore=store) for t, k in TYPES.items()}
        for topic, seconds, told in timeline() if events is None else events:
            plain = contents(topic, told) if not told.get("plain") else told["plain"]
            if one and "header" in plain:
                plain = plain | {"header": plain["header"] | {"seq": 0}}
            message = build(store, TYPES[topic], plain)
            time = START + round(seconds * 1e9)
            bag.write(topics[topic], time, serialize(message, TYPES[topic]))
    return path


def write_mcap_ros2(path):
    """Let mcap-ros2-support write a file, with the definitions that rosbags knows."""
    support = pytest.importorskip("mcap_ros2.writer", reason="needs mcap-ros2-support")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    with path.open("wb") as file, support.Writer(file) as writer:
        schemas = {
            topic: writer.register_msgdef(kind, store.generate_msgdef(kind, ros_version=2)[0])
            for topic, kind in TYPES.items()
        }
        for topic, seconds, told in timeline():
            time = START + round(seconds * 1e9)
            writer.write_message(topic, schemas[topic], contents(topic, told), log_time=time)
    return path


def write_mcap_json(path, encoding="json"):
    """Let mcap write a file as programs without ROS do."""
    with path.open("wb") as file:
        writer = mcap.Writer(file)
        writer.start()
        channels = {}
        for topic in TYPES:
            schema = writer.register_schema(topic.strip("/"), "jsonschema", b'{"type": "object"}')
            channels[topic] = writer.register_channel(topic, encoding, schema)
        for topic, seconds, told in timeline():
            time = START + round(seconds * 1e9)
            data = json.dumps(contents(topic, told)).encode()
            writer.add_message(channels[topic], time, data, time)
        writer.finish()
    return path
