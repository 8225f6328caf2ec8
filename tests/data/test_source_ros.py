"""The ros source reads bags that rosbags, mcap and mcap-ros2-support wrote."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from goalsets.cli import main
from goalsets.data.flatten import FieldSpec
from goalsets.data.importing import import_source
from goalsets.data.sources import Ros, SourceError, default_store_name, known_rate
from goalsets.data.store import Store
from goalsets.testing import check_source
from tests.data.bag_files import (
    JOINTS,
    START,
    command,
    contents,
    position,
    quaternion,
    timeline,
    write_bag,
    write_mcap_json,
    write_mcap_ros2,
)

CHOSEN = {"observations": ("/joint_states.position",), "actions": ("/command.data",)}
WRITERS = {
    "sqlite3": lambda path: write_bag(path / "bag"),
    "mcap": lambda path: write_bag(path / "bag", "MCAP"),
    "one .db3": lambda path: write_bag(path / "bag") / "bag.db3",
    "one .mcap": lambda path: write_bag(path / "bag", "MCAP") / "bag.mcap",
    "ros 1": lambda path: write_bag(path / "log.bag", one=True),
    "mcap-ros2-support": lambda path: write_mcap_ros2(path / "log.mcap"),
    "json": lambda path: write_mcap_json(path / "log.mcap"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_topics_are_brought_to_one_rate(tmp_path, writer):
    source = Ros(WRITERS[writer](tmp_path), rate=20, **CHOSEN)
    check_source(source)
    assert source.fields() == (FieldSpec("joint_states.position", 2, tuple(JOINTS)),)
    (episode,) = source.episodes()
    # From the first command, at 0.1 s, to the last state, at 2 s.
    seconds = 0.1 + np.arange(39) / 20
    np.testing.assert_allclose(episode.observations, [position(t) for t in seconds], atol=1e-6)
    # A command comes with every second step, and the last one at 1.9 s.
    expected = [command(min(int(t * 10 + 1e-6), 19)) for t in seconds[:-1]]
    np.testing.assert_allclose(episode.actions, expected)
    assert list(source.notices) == []
    assert known_rate(source) == 20


def test_states_are_interpolated_between_messages(tmp_path):
    source = Ros(write_bag(tmp_path / "bag"), rate=17, **CHOSEN)
    (episode,) = source.episodes()
    seconds = 0.1 + np.arange(len(episode.observations)) / 17
    np.testing.assert_allclose(episode.observations, [position(t) for t in seconds], atol=1e-5)


@pytest.mark.parametrize("writer", ["sqlite3", "json"])
def test_poses_and_switches(tmp_path, writer):
    """Parts of a message become fields; rotations turn, and what is on or off holds."""
    chosen = {"observations": ("/tool.pose", "/grip"), "actions": ("/command",)}
    source = Ros(WRITERS[writer](tmp_path), rate=10, **chosen)
    check_source(source)
    assert source.fields() == (
        FieldSpec("tool.pose.position", 3),
        FieldSpec("tool.pose.orientation", 4),
        FieldSpec("grip", 1),
    )
    (episode,) = source.episodes()
    seconds = 0.1 + np.arange(len(episode.observations)) / 10
    np.testing.assert_allclose(episode.observations[:, 1], 2 * seconds, atol=1e-5)
    turned = [quaternion(t) for t in seconds]
    np.testing.assert_allclose(episode.observations[:, 3:7], turned, atol=1e-4)
    assert set(episode.observations[:, 7].tolist()) <= {0.0, 1.0}
    assert episode.actions.shape[1] == 2  # the layout of an array is no part of it


def test_a_rotation_may_change_its_sign(tmp_path):
    events = timeline()
    for number, (topic, _, told) in enumerate(events):
        if topic == "/tool" and number % 2:
            plain = contents(topic, told)
            turn = plain["pose"]["orientation"]
            plain["pose"]["orientation"] = {key: -value for key, value in turn.items()}
            told["plain"] = plain
    chosen = {"observations": ("/tool.pose.orientation",), "actions": ("/command.data",)}
    (episode,) = Ros(write_bag(tmp_path / "bag", events=events), rate=50, **chosen).episodes()
    np.testing.assert_allclose(np.linalg.norm(episode.observations, axis=1), 1, atol=1e-5)
    turned = np.array([quaternion(0.1 + n / 50) for n in range(len(episode.observations))])
    np.testing.assert_allclose(np.abs((episode.observations * turned).sum(axis=1)), 1, atol=1e-4)


@pytest.mark.parametrize(
    ("part", "places"), [("elbow", [1]), ("elbow, shoulder", [1, 0]), ("0", [0]), ("0:2", [0, 1])]
)
def test_entries_are_chosen(tmp_path, part, places):
    chosen = CHOSEN | {"observations": (f"/joint_states.position[{part}]",)}
    source = Ros(write_bag(tmp_path / "bag"), rate=10, **chosen)
    check_source(source)
    assert source.fields()[0].names == tuple(JOINTS[place] for place in places)
    (episode,) = source.episodes()
    np.testing.assert_allclose(episode.observations[0], position(0.1)[places], atol=1e-6)


def shuffled(events, names, values):
    """Every second message about joints names others, or the same in another order."""
    for number, (topic, _, told) in enumerate([e for e in events if e[0] == "/joint_states"]):
        if number % 2:
            told["plain"] = contents(topic, told) | {
                "name": names,
                "position": list(values(told["at"])),
                "velocity": [],
            }
    return events


def test_joints_are_known_by_their_names(tmp_path):
    events = shuffled(timeline(), JOINTS[::-1], lambda t: position(t)[::-1])
    (episode,) = Ros(write_bag(tmp_path / "bag", events=events), rate=20, **CHOSEN).episodes()
    np.testing.assert_allclose(episode.observations[10], position(0.6), atol=1e-6)


def test_a_topic_that_two_programs_write(tmp_path):
    events = shuffled(timeline(), ["finger"], lambda t: [7.0])
    path = write_bag(tmp_path / "bag", events=events)
    with pytest.raises(
        SourceError,
        match=r"message 1 has joint_states.position of 1 \(finger\); expected .*\(shoulder, elb",
    ):
        list(Ros(path, rate=20, **CHOSEN).episodes())
    both = ("/joint_states.position[shoulder,elbow]", "/joint_states.position[finger]")
    source = Ros(path, rate=20, observations=both, actions=("/command.data",))
    check_source(source)
    (episode,) = source.episodes()
    np.testing.assert_allclose(episode.observations[5], [*position(0.35), 7], atol=1e-6)


def test_the_rate_of_the_first_topic_is_the_default(tmp_path):
    path = write_bag(tmp_path / "bag")
    source = Ros(path, **CHOSEN)
    store = import_source(source, tmp_path / "s", hold_out=0).store
    assert store.rate == 100
    assert store.notices == ("the rate is that of '/joint_states.position', 100 steps a second.",)
    slow = Ros(path, observations=("/grip", "/tool.pose"), actions=("/command",))
    assert known_rate(slow) == 2


def test_the_time_in_a_header(tmp_path):
    late = [(topic, t + 0.3 * (topic == "/joint_states"), told) for topic, t, told in timeline()]
    path = write_bag(tmp_path / "bag", events=sorted(late, key=lambda event: event[1]))
    chosen = {"observations": ("/joint_states.position",), "actions": ("/tool.pose.position",)}
    (episode,) = Ros(path, rate=50, stamps="header", **chosen).episodes()
    np.testing.assert_allclose(episode.observations[0], position(0.005), atol=1e-6)
    with pytest.raises(SourceError, match="'/command' have no stamp in a header"):
        list(Ros(path, rate=50, stamps="header", **CHOSEN).episodes())


def test_several_bags(tmp_path, capsys):
    for number in (1, 2, 10):
        write_bag(tmp_path / "bags" / f"run_{number}", events=timeline(1 + number / 10))
    write_mcap_json(tmp_path / "bags" / "z.mcap")
    source = Ros(tmp_path / "bags", rate=20, **CHOSEN)
    check_source(source)
    assert [len(episode) for episode in source.episodes()] == [20, 22, 38, 38]
    assert default_store_name(source) == "bags"
    words = ["data", "import", "ros", str(tmp_path / "bags"), "--output", str(tmp_path / "s")]
    words += ["--observations", "/joint_states.position", "/grip", "--actions", "/command.data"]
    main([*words, "--rate", "20"])
    assert "4 episodes to train on (118 transitions)" in capsys.readouterr().out
    store = Store.open(tmp_path / "s")
    assert store.rate == 20
    assert [group.name for group in store.layout.groups] == [*JOINTS, "grip"]


def test_silence_is_said(tmp_path):
    events = [e for e in timeline() if e[0] != "/joint_states" or not 0.5 < e[1] < 1.2]
    events = [e for e in events if e[0] != "/command" or e[1] < 1]
    source = Ros(write_bag(tmp_path / "bag", events=events), rate=20, **CHOSEN)
    check_source(source)
    said = "{} is silent for more than half a second: {} (1 episode)."
    assert list(source.notices) == [
        said.format("'joint_states.position'", "it was interpolated"),
        said.format("'command.data'", "its last value was held"),
    ]


def test_old_bags_do_not_define_their_messages(tmp_path):
    path = write_bag(tmp_path / "bag")
    with sqlite3.connect(path / "bag.db3") as database:
        database.execute("DELETE FROM message_definitions")
    database.close()
    check_source(Ros(path, rate=20, **CHOSEN))
    with pytest.raises(SourceError, match="unknown distribution of ROS 2 'humbel': .*'humble'"):
        Ros(path, distro="humbel", **CHOSEN).fields()


# --- What cannot be -------------------------------------------------------------------------------


def fails(path, match, **settings):
    with pytest.raises(SourceError, match=match):
        list(Ros(path, **({"rate": 20} | CHOSEN | settings)).episodes())


def test_topics_and_fields_that_cannot_be_are_explained(tmp_path):
    path = write_bag(tmp_path / "bag")
    fails(
        path,
        r"name topics and fields in 'observations'.*/grip \(std_msgs/msg/Bool\)",
        observations=(),
    )
    fails(path, "in 'actions'", actions=())
    fails(
        path,
        "no topic '/joint_state': did you mean '/joint_states'",
        observations=("/joint_state.x",),
    )
    fails(
        path,
        "a message has no 'positon' there: did you mean 'position'",
        observations=("/joint_states.positon",),
    )
    fails(path, "a message has no numbers there", observations=("/joint_states.name",))
    fails(path, r"from one array, not from 2", observations=("/tool.pose[0]",))
    fails(
        path,
        r"a message has 2 numbers there, of shoulder, elbow",
        observations=("/joint_states.position[4]",),
    )
    fails(
        path,
        r"no message holds '/joint_states.position\[wrist\]'",
        observations=("/joint_states.position[wrist]",),
    )
    fails(path, "the rate must be above 0", rate=-1)


def test_bags_that_differ_are_explained(tmp_path):
    write_bag(tmp_path / "bags" / "a")
    plain = contents("/joint_states", {"at": 0}) | {"name": ["knee"], "position": [0.0]}
    events = [
        (t, s, told | {"plain": plain} if t == "/joint_states" else told)
        for t, s, told in timeline()
    ]
    write_bag(tmp_path / "bags" / "b", events=events)
    fails(
        tmp_path / "bags",
        r"b: the state is joint_states.position of 1 \(knee\); expected .* as in the first",
    )


def test_topics_that_do_not_meet_are_explained(tmp_path):
    events = [e for e in timeline() if (e[0] == "/command") == (e[1] > 1)]
    path = write_bag(tmp_path / "bag", events=events)
    fails(path, "'joint_states.position' ends 0.1 s before 'command.data' begins")
    silent = [e for e in timeline() if e[0] != "/command"]
    fails(write_bag(tmp_path / "silent", events=silent), "no message holds '/command.data'")
    once = [(t, s, told) for t, s, told in timeline() if t != "/joint_states" or s == 0]
    fails(write_bag(tmp_path / "once", events=once), "so its rate is unknown", rate=None)


def test_places_and_damage_are_named(tmp_path):
    fails((), "name one or more bags")
    fails(tmp_path / "nowhere", "there is no file .*nowhere")
    fails(tmp_path, r"holds no bags: expected files \*.mcap")
    path = write_bag(tmp_path / "bag", "MCAP") / "bag.mcap"
    path.write_bytes(path.read_bytes()[:5000])
    fails(path, "bag.mcap cannot be read as a bag, or is damaged")
    fails(
        write_mcap_json(tmp_path / "log.mcap", "protobuf"),
        "encoded as 'protobuf'; expected .* JSON",
    )
    assert START > 2**53  # what the times are tested with, floats cannot hold
