"""Columns by their names: neighbours that are one vector."""

from __future__ import annotations

import pytest

from goalsets.data.sources.columns import join_vectors

CASES = {
    "eef.x eef.y eef.z": "eef",
    "eef_x eef_y grip": "eef grip",
    "pose/x pose/y pose/z pose/w": "pose",
    "quat.w quat.x quat.y quat.z": "quat",
    "joint[0] joint[1] joint[2]": "joint",
    "joint_1 joint_2 joint_3 joint_5": "joint joint_5",
    "a.x b.x": "a.x b.x",
    "a.x a_y": "a.x a_y",
    "a.x a.z": "a.x a.z",
    "x y z": "x y z",
    "p.x p.y p.z p.w p.x": "p p.x",
    "arm.position[0] arm.position[1] arm.velocity[0]": "arm.position arm.velocity[0]",
}


@pytest.mark.parametrize(("columns", "names"), CASES.items())
def test_neighbours_are_joined(columns, names):
    vectors = join_vectors(columns.split())
    assert [vector.name for vector in vectors] == names.split()
    assert [name for vector in vectors for name in vector.columns] == columns.split()
