"""Relational goal inputs: what is shown of a question, and what it does not depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from goalsets import Group, Query, StateLayout
from goalsets.condition import (
    CONDITIONERS,
    INPUTS,
    GoalSetConditioner,
    RelationalConditioner,
    Relations,
)
from goalsets.core.objects import families
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.envs.layouts import antmaze_layout, cube_layout, puzzle_layout, scene_layout
from goalsets.envs.tabletop.layout import tabletop_layout
from goalsets.policy import TrainedPolicy
from goalsets.runs.build import make_learner
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame

LAYOUTS = {
    "cube-1": cube_layout(1),
    "cube-3": cube_layout(3),
    "scene": scene_layout(),
    "puzzle": puzzle_layout(3, 3),
    "antmaze": antmaze_layout(),
    "tabletop": tabletop_layout(2),
    "no groups": StateLayout(4, [], task="[0]"),
}
RELATIONS = {name: relations for name, relations in INPUTS.items() if relations is not None}


def make(
    layout: StateLayout, relations: Relations | None = None, scheme: str = "goal-set"
) -> RelationalConditioner:
    """A conditioner over states whose coordinates have different means and deviations."""
    rng = np.random.default_rng(3)
    numbers = rng.uniform(0.5, 2.0, (2, layout.dim)).astype(np.float32)
    for family in families(layout):  # objects of one family live in one world
        columns = np.array([[i for g in groups for i in g.indices] for groups in family.objects])
        numbers[:, columns] = numbers[:, columns[:1]]
    normaliser = Normaliser(*numbers, np.zeros(1, np.float32), np.ones(1, np.float32))
    slots = GoalSetConditioner(layout.dim)
    base = slots
    if scheme != "goal-set":
        base = CONDITIONERS[scheme].make(layout, "learned", None)
    return RelationalConditioner(base, layout, normaliser, relations or Relations(), slots)


def asked_mask(question: str, layout: StateLayout) -> torch.Tensor:
    return torch.tensor(Query.parse(question, layout).mask.tolist())


def draw(layout: StateLayout, count: int = 16) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    states, goals = torch.randn(2, count, layout.dim, generator=rng)
    return states, goals, torch.rand(count, layout.dim, generator=rng) < 0.5


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scheme", CONDITIONERS)
@pytest.mark.parametrize("relations", RELATIONS)
def test_arrays_and_tensors_are_shown_the_same(layout: str, scheme: str, relations: str) -> None:
    conditioner = make(LAYOUTS[layout], RELATIONS[relations], scheme)
    states, goals, masks = draw(LAYOUTS[layout])
    shown = conditioner(states, goals, masks)
    assert shown.shape == (16, conditioner.dim)
    assert conditioner.goal_input(goals, masks).shape == (16, conditioner.goal_dim)
    arrays = conditioner(states.numpy(), goals.numpy(), masks.numpy())
    np.testing.assert_allclose(arrays, shown.detach().numpy(), atol=2e-6)
    one = conditioner(states[3].numpy(), goals[3].numpy(), masks[3].numpy())
    assert one.dtype == np.float32
    np.testing.assert_allclose(one, arrays[3], atol=2e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("relations", RELATIONS)
def test_what_is_not_asked_for_is_not_shown(layout: str, relations: str) -> None:
    conditioner = make(LAYOUTS[layout], RELATIONS[relations])
    states, goals, masks = draw(LAYOUTS[layout])
    hidden = torch.where(conditioner.heard(masks), goals, torch.nan)
    shown = conditioner(states, hidden, masks)
    assert shown.isfinite().all()
    assert (shown == conditioner(states, goals, masks)).all()


def test_objects_that_are_alike_can_change_places() -> None:
    layout = LAYOUTS["cube-3"]
    conditioner = make(layout)
    states, goals, _ = draw(layout)
    other = list(range(layout.dim))
    other[19:28], other[37:46] = other[37:46], other[19:28]
    for asked in ("block0_pos", "block0_pos & block0_yaw", "block0_quat & eff_pos"):
        masks = asked_mask(asked, layout).expand_as(states)
        shown = conditioner(states, goals, masks)
        changed = conditioner(states[:, other], goals[:, other], masks[:, other])
        torch.testing.assert_close(shown, changed, rtol=0, atol=1e-6)


def test_all_objects_without_a_place_that_are_wrong_are_named() -> None:
    """One act may change several: a button of a puzzle turns its neighbours."""
    layout = LAYOUTS["puzzle"]
    conditioner = make(layout)
    states, _, _ = draw(layout, 1)
    goals = states.clone()
    for button in (1, 4, 8):
        columns = list(layout.by_name[f"button{button}_state"].indices)
        goals[:, columns] += 1
    masks = asked_mask(" & ".join(f"button{b}_state" for b in (0, 1, 4)), layout)
    in_question, wrong = conditioner(states, goals, masks[None])[0, -18:].reshape(2, 9)
    assert in_question.nonzero().flatten().tolist() == [1]
    assert wrong.nonzero().flatten().tolist() == [1, 4]  # 0 is right, and nobody asked for 8


def asked_about(layout: StateLayout, question: str, there: str) -> int:
    """Which of three cubes is in question when those of `there` are where they should be."""
    conditioner = make(layout, Relations(differences=False))
    states, goals, _ = draw(layout, 1)
    if there:
        places = asked_mask(there, layout)
        goals[:, places] = states[:, places]
    shown = conditioner(states, goals, asked_mask(question, layout)[None])
    alone = [
        conditioner(states, goals, asked_mask(f"block{i}_pos", layout)[None]) for i in range(3)
    ]
    return [bool(torch.allclose(shown, each, atol=1e-6)) for each in alone].index(True)


@pytest.mark.parametrize(
    ("question", "there", "expected"),
    [
        ("block0_pos & block2_pos", "", 0),
        ("block0_pos & block2_pos", "block0_pos", 2),
        ("block1_pos & block2_pos", "block1_pos", 2),
        ("block1_pos & block2_pos", "block1_pos & block2_pos", 1),
        ("block0_pos & block1_pos & block2_pos", "block0_pos & block2_pos", 1),
    ],
)
def test_the_first_object_that_is_not_there_is_in_question(
    question: str, there: str, expected: int
) -> None:
    assert asked_about(LAYOUTS["cube-3"], question, there) == expected


def turn(axis: list[float], degrees: float) -> NDArray[np.float32]:
    half = np.radians(degrees) / 2
    return np.array([np.cos(half), *(np.sin(half) * np.array(axis))], dtype=np.float32)


def heading(degrees: float) -> NDArray[np.float32]:
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], dtype=np.float32)


def alone(group: Group) -> RelationalConditioner:
    """The differences of one group, behind its [s̄, ḡ, q], with states in raw units."""
    dim = len(group.indices)
    layout = StateLayout(dim, [group])
    ones = Normaliser(np.zeros(dim, np.float32), np.ones(dim, np.float32), *np.ones((2, 1), "f4"))
    slots = GoalSetConditioner(dim)
    return RelationalConditioner(slots, layout, ones, Relations(objects="slots"), slots)


def test_differences_are_in_the_metric_of_their_group() -> None:
    angle = alone(Group("yaw", (0, 1), "angle"))
    every = np.ones(2, np.bool_)
    np.testing.assert_allclose(
        angle(heading(350), heading(20), every)[6:], heading(30) - [1, 0], atol=1e-6
    )
    assert not angle(heading(77), heading(77), every)[6:].round(6).any()
    # Half an angle is no angle: the difference is shown only of the whole.
    assert not angle(heading(0), heading(90), np.array([True, False]))[6:].any()

    quaternion = alone(Group("quat", range(4), "quaternion"))
    every = np.ones(4, np.bool_)
    for sign in (1, -1):  # a quaternion and its negative are one rotation
        apart = quaternion(turn([0, 0, 1], 10), sign * turn([0, 0, 1], 50), every)[12:]
        np.testing.assert_allclose(apart, turn([0, 0, 1], 40) - [1, 0, 0, 0], atol=1e-6)
    apart = quaternion(turn([1, 0, 0], 90), turn([1, 0, 0], 30), every)[12:]
    np.testing.assert_allclose(apart, turn([1, 0, 0], -60) - [1, 0, 0, 0], atol=1e-6)


def test_half_of_a_symbol_is_heard_as_the_whole() -> None:
    layout = LAYOUTS["scene"]
    conditioner = make(layout)
    half, whole = (
        Query.parse(q, layout).mask for q in ("[29] & eff_pos", "button0_state & eff_pos")
    )
    assert (conditioner.heard(half) == whole).all()
    states, goals, _ = (each.numpy() for each in draw(layout))
    assert (conditioner(states[0], goals[0], half) == conditioner(states[0], goals[0], whole)).all()


def test_objects_without_a_place_are_named() -> None:
    layout = LAYOUTS["puzzle"]
    conditioner = make(layout)
    states, goals, _ = (each.numpy() for each in draw(layout))
    goals[0], states[0] = 1.0, 0.0  # all buttons look alike
    first, last = (Query.parse(f"button{i}_state", layout).mask for i in (0, 8))
    assert (conditioner(states[0], goals[0], first) != conditioner(states[0], goals[0], last)).any()


def policy_of(inputs: str) -> TrainedPolicy:
    layout = LAYOUTS["tabletop"]
    zeros, ones = np.zeros(layout.dim, np.float32), np.ones(layout.dim, np.float32)
    normaliser = Normaliser(zeros, ones, zeros[:5], ones[:5])
    frame = Frame(layout, normaliser, 40, Bounds.plus_minus_one(5))
    config = TrainConfig("tabletop-double-v0", scheme="gs-direct", inputs=inputs, hidden=32)
    return TrainedPolicy(make_learner(config, frame), layout, normaliser, frame.bounds)


def test_an_actor_knows_only_the_object_in_question() -> None:
    layout = LAYOUTS["tabletop"]
    states, goals, _ = (each.numpy() for each in draw(layout))
    moved = states.copy()
    other = [i for name in ("block1_pos", "block1_yaw") for i in layout.group(name).indices]
    moved[:, other] += 1.0
    policy = policy_of("relational")
    acted = policy.act(states, goals, "block0_pos")
    assert (acted == policy.act(moved, goals, "block0_pos")).all()
    assert (acted != policy.act(moved, goals, "block1_pos")).any()
    # One state goes another way through the networks than many.
    np.testing.assert_allclose(policy.act(states[2], goals[2], "block0_pos"), acted[2], atol=1e-5)
    everything = policy_of("with-others")
    told = everything.act(states, goals, "block0_pos")
    assert (told != everything.act(moved, goals, "block0_pos")).any()


def test_a_focused_actor_sees_an_object_only_if_the_question_needs_it() -> None:
    layout, policy = LAYOUTS["tabletop"], policy_of("focused")
    states, goals, _ = (each.numpy() for each in draw(layout))
    moved = states.copy()
    blocks = [i for g in layout.groups if g.kind for i in g.indices]
    moved[:, blocks] += 1.0

    def sees_blocks(question: str) -> np.ndarray:
        told, elsewhere = (policy.act(each, goals, question) for each in (states, moved))
        return (told != elsewhere).any(-1)

    assert sees_blocks("block0_pos").all()
    assert not sees_blocks("eff_pos & eff_yaw").any()
    opening = list(layout.group("gripper_opening").indices)
    goals[:, opening] = states[:, opening] + 1.0
    goals[0, opening] = states[0, opening]
    touching = sees_blocks("eff_pos & gripper_opening")
    assert not touching[0]  # the gripper is as asked for, and only the place is left
    assert touching[1:].all()


def test_the_nearest_object_is_shown_to_a_hand_that_must_touch_something() -> None:
    layout = LAYOUTS["cube-3"]
    conditioner = make(layout, Relations(others="focused"))
    states, goals, _ = (each.numpy() for each in draw(layout))
    mask = Query.parse("eff_pos & gripper_opening", layout).mask
    raw = conditioner._frame.raw(states[0])
    apart = [
        raw[list(layout.group(f"block{i}_pos").indices)]
        - raw[list(layout.group("eff_pos").indices)]
        for i in range(3)
    ]
    nearest = int(np.argmin([np.linalg.norm(each) for each in apart]))
    for cube in range(3):
        moved = states[0].copy()
        moved[list(layout.group(f"block{cube}_yaw").indices)] += 0.5
        is_shown = (
            conditioner(moved, goals[0], mask) != conditioner(states[0], goals[0], mask)
        ).any()
        assert is_shown == (cube == nearest)
