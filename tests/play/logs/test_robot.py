"""Which part of a state moves which joint, and where that puts a robot."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from goalsets.core import Group, StateLayout
from goalsets.data.store import Store
from goalsets.play.figures import kinematics, new_data
from goalsets.play.logs.joints import Joint, JointError, map_joints, read_joints
from goalsets.play.logs.places import places_of
from goalsets.play.logs.robot import ModelError, Robot
from tests.play.logs.arm import LAYOUT, hand_of

NO_STATES = np.zeros((1, 5), np.float32)


@pytest.mark.parametrize("name", ["arm.xml", "arm.urdf"])
def test_a_model_stands_as_the_arm_stood(here: Path, store: Store, name: str) -> None:
    states = store.validation.observations
    robot = Robot.load(here / name, LAYOUT, states)
    moved = {drive.source: drive.joint.name for drive in robot.driven.drives}
    assert moved == {"shoulder.pos": "shoulder_joint", "elbow.pos": "elbow_joint"}
    assert any("taken as degrees" in note for note in robot.notes)
    data = new_data(robot.model)
    for state in states[::37]:
        kinematics(robot.model, data, robot.pose(state))
        lower = data.body("lower")
        tip = lower.xpos + lower.xmat.reshape(3, 3) @ np.array([0.2, 0, 0])
        np.testing.assert_allclose(tip[:2], state[2:4], atol=1e-5)
    low, high = np.min(robot.extent(states[:5]), 0), np.max(robot.extent(states[:5]), 0)
    assert 0.1 < (high - low).max() < 1.2  # of the arm, not of the table


def test_links_show_the_groups_that_move_them(here: Path, store: Store) -> None:
    robot = Robot.load(here / "arm.xml", LAYOUT, store.validation.observations)
    groups = {body.name: body.groups for body in robot.bodies}
    assert groups["upper"] == {"shoulder.pos"}
    assert groups["lower"] == {"elbow.pos"}
    assert groups["jaw"] == {"elbow.pos"}  # as its parent
    assert "no part of the state moves jaw_joint: it stays at rest" in robot.notes[-1]


def test_the_body_that_carries_a_place_shows_it(here: Path, store: Store) -> None:
    places = [Group("tip", [2, 3, 4], unit="m"), Group("cup", [5, 6, 7], unit="m")]
    layout = StateLayout(8, [*LAYOUT.groups[:2], *places])
    states = store.validation.observations
    rng = np.random.default_rng(0)
    height = np.full((len(states), 1), 0.05)
    cups = rng.uniform(-1, 1, (len(states), 3))
    states = np.concatenate([states[:, :4], height, cups], axis=1).astype(np.float32)
    robot = Robot.load(here / "arm.xml", layout, states)
    groups = {body.name: body.groups for body in robot.bodies}
    assert groups["jaw"] == {"tip"}
    assert not any("cup" in shown for shown in groups.values())


def test_a_urdf_shows_what_is_made_to_be_seen(here: Path, store: Store) -> None:
    robot = Robot.load(here / "arm.urdf", LAYOUT, store.validation.observations)
    (upper,) = [body for body in robot.bodies if body.name == "upper"]
    size = np.ptp(np.concatenate([mesh.vertices for mesh in upper.meshes]), axis=0)
    np.testing.assert_allclose(size, [0.3, 0.04, 0.04], atol=1e-4)


def test_meshes_of_a_package_are_found_above_the_urdf(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "my_arm/meshes").mkdir(parents=True)
    (tmp_path / "my_arm/urdf").mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "my_arm/meshes/link.stl")
    text = """<robot name="a"><link name="base"/><link name="arm"><visual><geometry>
    <mesh filename="package://my_arm/meshes/link.stl"/></geometry></visual></link>
    <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>"""
    path = tmp_path / "my_arm/urdf/a.urdf"
    path.write_text(text)
    layout = StateLayout(1, [Group("turn", [0])])
    robot = Robot.load(path, layout, np.zeros((1, 1), np.float32))
    size = np.ptp(robot.bodies[0].meshes[0].vertices, axis=0)
    np.testing.assert_allclose(sorted(size), [0.1, 0.2, 0.3], atol=1e-4)
    path.write_text(text.replace("link.stl", "gone.stl"))
    with pytest.raises(ModelError, match="package://my_arm/meshes/gone.stl, which is in none of"):
        Robot.load(path, layout, np.zeros((1, 1), np.float32))


def test_fingers_that_are_tied_follow(tmp_path: Path) -> None:
    path = tmp_path / "hand.xml"
    finger = '<body name="{0}"><joint name="{0}" type="slide"/><geom size=".01"/></body>'
    path.write_text(
        f"<mujoco><worldbody>{finger.format('left')}{finger.format('right')}</worldbody><equality>"
        '<joint joint1="left" joint2="right" polycoef="0.1 -2 0 0 0"/></equality></mujoco>'
    )
    for name, given, expected in (
        ("right", 0.5, (0.1 - 2 * 0.5, 0.5)),
        ("left", 0.5, (0.5, (0.5 - 0.1) / -2)),
    ):
        layout = StateLayout(1, [Group(name, [0], unit="m")])
        robot = Robot.load(path, layout, np.zeros((1, 1), np.float32))
        np.testing.assert_allclose(robot.pose(np.array([given], np.float32)), expected, atol=1e-6)
        assert not robot.notes


def joint(name: str, kind: str = "hinge", body: str = "", address: int = 0) -> Joint:
    return Joint(name, body, kind, address, None)  # pyright: ignore[reportArgumentType]


def mapped(layout: StateLayout, joints: list[Joint], **given: str) -> dict[str, str]:
    states = np.zeros((1, layout.dim), np.float32)
    return {d.source: d.joint.name for d in map_joints(joints, layout, states, given).drives}


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("shoulder_pan.pos", "shoulder_pan_joint"),
        ("observation.state/elbow", "Elbow"),
        ("joint_1", "joint1"),
        ("panda_joint3.pos", "panda_joint3"),
    ],
)
def test_names_that_mean_the_same_are_the_same(group: str, name: str) -> None:
    other = "shoulder_lift.pos" if "lift" not in group else "x"
    layout = StateLayout(2, [Group(group, [0]), Group(other, [1])])
    assert mapped(layout, [joint(name), joint("wrist_9")]) == {group: name}


def test_velocities_move_nothing_and_doubts_are_said() -> None:
    layout = StateLayout(3, [Group("elbow.vel", [0]), Group("elbow", [1]), Group("elbow_pos", [2])])
    assert mapped(layout, [joint("elbow")]) == {"elbow": "elbow"}  # the very name
    unclear = StateLayout(3, [Group("a", [0]), Group("elbow.pos", [1]), Group("elbow_angle", [2])])
    found = map_joints(
        [joint("elbow_joint"), joint("a")], unclear, np.zeros((1, 3), np.float32), {}
    )
    assert [drive.joint.name for drive in found.drives] == ["a"]
    assert "elbow_joint could be moved by elbow.pos or elbow_angle" in found.notes[0]


def test_things_that_are_free_take_a_place_and_a_direction() -> None:
    layout = StateLayout(
        9,
        [
            Group("cube_pos", [0, 1, 2], unit="m", scale=10.0),
            Group("cube_quat", [3, 4, 5, 6], "quaternion"),
            Group("yaw", [7, 8], "angle"),
        ],
    )
    joints = [joint("cube_free", "free", "cube"), joint("yaw", address=7)]
    drives = map_joints(joints, layout, np.zeros((1, 9), np.float32), {}).drives
    pose = np.zeros(8)
    state = np.array([1, 2, 3, 0, 0, 0, 2, math.cos(2), math.sin(2)], np.float32)
    for drive in drives:
        drive.put(state, pose)
    np.testing.assert_allclose(pose, [0.1, 0.2, 0.3, 0, 0, 0, 1, 2], atol=1e-6)


def test_people_may_say_what_moves_what(tmp_path: Path) -> None:
    layout = StateLayout(3, [Group("arm", [0, 1]), Group("grip", [2])])
    joints = [joint("base"), joint("top", address=1), joint("jaw", "slide", address=2)]
    assert mapped(layout, joints, **read_joints(["arm.0=base,arm.1=top", "grip=jaw"])) == {
        "arm.0": "base",
        "arm.1": "top",
        "grip": "jaw",
    }
    (tmp_path / "a.yaml").write_text("arm: [base, top]\ngrip: jaw\n")
    (tmp_path / "a.json").write_text(json.dumps({"arm": ["base", "top"], "grip": "jaw"}))
    for name in ("a.yaml", "a.json"):
        assert len(mapped(layout, joints, **read_joints([str(tmp_path / name)]))) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arm.0": "bose"}, "the model has no joint 'bose', which 'arm.0' should move: .*base"),
        ({"arn.0": "base"}, "unknown group 'arn'"),
        ({"arm": "base"}, "'arm' cannot move 'base', a hinge joint: it has 2 coordinates"),
        ({"way": "base"}, "'way' is measured in 'm': it cannot move 'base', a hinge joint"),
        (
            {},
            r"no part of the state has the name of a joint.*\njoints: base, jaw \(slide\)\n"
            r"state:  arm.x, arm.y, way, \[3\]\nSay which belong together, such as --joints "
            "arm.x=base",
        ),
    ],
)
def test_what_cannot_be_mapped_is_listed(given: dict[str, str], message: str) -> None:
    layout = StateLayout(4, [Group("arm", [0, 1]), Group("way", [2], unit="m")])
    with pytest.raises((JointError, Exception), match=message):
        mapped(layout, [joint("base"), joint("jaw", "slide")], **given)


def test_wrong_words_and_files_are_explained(tmp_path: Path, here: Path, store: Store) -> None:
    with pytest.raises(JointError, match="--joints takes pairs such as .* got 'arm'"):
        read_joints(["arm"])
    with pytest.raises(JointError, match="cannot read the joints"):
        read_joints([str(tmp_path / "none.yaml")])
    (tmp_path / "list.yaml").write_text("- a\n")
    with pytest.raises(JointError, match="expected a mapping"):
        read_joints([str(tmp_path / "list.yaml")])
    states = store.validation.observations
    (tmp_path / "broken.xml").write_text("<mujoco><nothing/></mujoco>")
    for name, message in (
        ("broken.xml", "MuJoCo cannot read the model"),
        ("none.xml", "there is no model"),
        ("arm.obj", "a model is MJCF"),
    ):
        with pytest.raises(ModelError, match=message):
            Robot.load(tmp_path / name, LAYOUT, states)


def test_numbers_beyond_the_limits_of_a_joint_are_noticed() -> None:
    layout = StateLayout(1, [Group("jaw", [0], unit="m")])
    limited = Joint("jaw", "", "slide", 0, (0.0, 0.04))
    found = map_joints([limited], layout, np.full((3, 1), 90, np.float32), {})
    assert "jaw reaches 90 m, far beyond the limits of jaw, 0 to 0.04" in found.notes[0]


def test_places_are_groups_in_metres(store: Store) -> None:
    (hand,) = places_of(LAYOUT)
    assert hand.planar
    state = store.validation.observations[5]
    np.testing.assert_allclose(hand.at(state)[:2], hand_of(state[0], state[1]), atol=1e-5)
    layout = StateLayout(
        8,
        [
            Group("a", [0, 1, 2], unit="m", scale=10.0),
            Group("b", [3, 4, 5]),
            Group("c", [6], unit="m"),
            Group("d", [7], unit="rad"),
        ],
    )
    (only,) = places_of(layout)
    np.testing.assert_allclose(only.at(np.arange(8.0, dtype=np.float32)), [0, 0.1, 0.2])
