"""Shapes have few triangles and know what they stand for; ghosts stand where states say."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.envs.tasks import TASKS
from goalsets.play.figures import kinematics, new_data
from goalsets.play.poser import Poser
from goalsets.play.shapes import bodies_of, thinned


def test_thinning_joins_what_is_near_and_drops_what_closes() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.01, 0.01, 0]], dtype=np.float32)
    faces = np.array([[0, 1, 2], [0, 3, 1], [3, 1, 2]])
    fewer, kept = thinned(vertices, faces, 0.1)
    assert len(fewer) == 3
    assert len(kept) == 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "thing", "groups"),
    [
        ("cube-single-noisy-v0", "object_0", {"block0_pos", "block0_quat", "block0_yaw"}),
        ("scene-play-v0", "drawer_link", {"drawer_pos", "drawer_vel"}),
        ("puzzle-3x3-play-v0", "button_8", {"button8_state", "button8_pos", "button8_vel"}),
        ("pointmaze-medium-navigate-v0", "torso", {"pos"}),
        ("antmaze-medium-navigate-v0", "aux_1", {"front_left_pos", "front_left_vel"}),
        ("antsoccer-arena-navigate-v0", "ball", {"ball_xy", "ball_z", "ball_quat"}),
        ("humanoidmaze-medium-navigate-v0", "left_hand", {"left_arm_pos", "left_hand_pos"}),
    ],
)
def test_bodies_show_groups_and_ghosts_stand_where_the_state_says(
    name: str, thing: str, groups: set[str]
) -> None:
    poser = Poser(TASKS[name])
    physics = poser.world.physics
    assert physics is not None
    bodies = bodies_of(physics[0], poser.task.layout, poser.task.scene.shows)
    found = {body.name: body for body in bodies}
    assert groups <= found[thing].groups
    assert found[thing].moves
    assert all(body.groups for body in bodies if body.moves)
    assert sum(len(mesh.faces) for body in bodies for mesh in body.meshes) < 60_000
    # A state that was observed is posed as it was.
    world = poser.world
    world.start(2, 3)
    for _ in range(5):
        world.step(np.full(world.adapter.action_space.shape, 0.3, dtype=np.float32))
    state, pose = world.frame()
    seen = kinematics(physics[0], new_data(physics[0]), pose)[0][found[thing].index].copy()
    posed = poser.pose(state)
    ghost = kinematics(physics[0], new_data(physics[0]), posed)[0][found[thing].index]
    # The humanoid observes no heading, so its limbs may stand elsewhere around it.
    axes = slice(2, 3) if name.startswith("humanoid") else slice(0, 3)
    np.testing.assert_allclose(ghost[axes], seen[axes], atol=0.02)
    world.close()


@pytest.mark.full
@pytest.mark.parametrize("name", ["cube-single-noisy-v0", "puzzle-3x3-play-v0"])
def test_inverse_kinematics_bring_the_arm_to_the_gripper(name: str) -> None:
    poser = Poser(TASKS[name])
    state = poser.official(1, 0)
    state[12:15] = (0.5, -1.0, 2.0)
    state[15:17] = (0.0, 1.0)
    moved = poser.follow(state, ["eff_pos", "eff_yaw"])
    poser.pose(moved)
    seen = poser.world.adapter.look()
    np.testing.assert_allclose(seen[12:17], moved[12:17], atol=0.02)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("cube-single-noisy-v0", "block"),
        ("puzzle-3x3-play-v0", "arm"),
        ("pointmaze-medium-navigate-v0", "point"),
        ("antmaze-medium-navigate-v0", "ant"),
    ],
)
def test_a_push_moves_what_it_says(name: str, what: str) -> None:
    from goalsets.play.world import World

    still, pushed = World(TASKS[name]), World(TASKS[name])
    action = np.zeros(still.adapter.action_space.shape, dtype=np.float32)
    for world in (still, pushed):
        world.start(1, 0)
    assert pushed.pushes == what
    pushed.push(np.random.default_rng(0))
    for world in (still, pushed):
        world.step(action)
    assert np.abs(still.observation - pushed.observation).max() > 0.05
    for world in (still, pushed):
        world.close()
