"""The suites that goalsets ships: each fits its tasks, and asks what its name says."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.envs.tasks import TASKS
from goalsets.evaluate.suites import shipped_description
from goalsets.evaluate.suites.description import shipped_descriptions


def test_every_shipped_suite_means_something() -> None:
    descriptions = shipped_descriptions()
    assert descriptions
    for description in descriptions:
        assert description.tasks
        for name in description.tasks:
            assert shipped_description(name) == description
            description.check(name, TASKS[name].layout)


def test_the_papers_suite() -> None:
    paper = shipped_description("cube-single-noisy-v0")
    layout = TASKS["cube-single-noisy-v0"].layout
    terms = {
        p.name: {t.name: round(t.tolerance or 0, 3) for t in p.parse(layout).terms}
        for p in paper.predicates
    }
    yaw, opening = {"eff_yaw": 0.347}, {"gripper_opening": 0.1}
    assert terms == {
        "cube_pos": {"block0_pos": 0.4},
        "cube_yaw": {"block0_yaw": 0.347},
        "cube_pose": {"block0_pos": 0.4, "block0_yaw": 0.347},
        "airborne_cube_pos": {"block0_pos": 0.3},
        "ee_pos": {"eff_pos": 0.4},
        "ee_pose": {"eff_pos": 0.4, **yaw},
        "ee_pose_gripper": {"eff_pos": 0.4, **yaw, **opening},
    }
    tabletop = "0.10 <= block0_pos.z <= 0.35"
    assert [p.where for p in paper.predicates[1:4]] == [tabletop, tabletop, "block0_pos.z >= 0.60"]
    assert [p.goals for p in paper.predicates] == ["official"] + 6 * ["validation"]
    assert {p.margin for p in paper.predicates} == {2.0}
    assert paper.episodes * 5 * len(paper.predicates) == 700


@pytest.mark.parametrize(("cubes", "name"), [(3, "cube-triple"), (4, "cube-quadruple")])
def test_suites_of_many_cubes_ask_for_each_of_them(cubes: int, name: str) -> None:
    each = [f"cube{cube}_pos" for cube in range(cubes)]
    for data in ("play", "noisy"):
        shipped = shipped_description(f"{name}-{data}-v0")
        assert shipped.name == name
        asked = {p.name: p for p in shipped.predicates}
        others = ["cube0_pose", "airborne_cube0_pos", "ee_pos", "ee_pose"]
        assert list(asked) == ["cubes_pos", *each, *others]
        assert asked["cubes_pos"].goals == "official"
        layout = TASKS[f"{name}-{data}-v0"].layout
        for cube, predicate in enumerate(each):
            (term,) = asked[predicate].parse(layout).terms
            assert term.name == f"block{cube}_pos"
        # Observed in decimetres: the middle of a cube of 0.4 that lies on all the others.
        condition = asked["airborne_cube0_pos"].condition(layout)
        assert condition is not None
        top, above = np.zeros((2, layout.dim), np.float32)
        top[layout.group("block0_pos").indices[2]] = 0.2 + 0.4 * (cubes - 1)
        above[layout.group("block0_pos").indices[2]] = 0.4 + 0.4 * (cubes - 1)
        assert list(condition.holds(np.stack([top, above]))) == [False, True]


def test_the_scene_is_asked_for_each_button() -> None:
    layout = TASKS["scene-play-v0"].layout
    asked = {p.name: p.parse(layout) for p in shipped_description("scene-play-v0").predicates}
    for button in range(2):
        (term,) = asked[f"button{button}"].terms
        assert (term.name, term.whole) == (f"button{button}_state", True)
