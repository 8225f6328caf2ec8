"""Proposals: names from the log, and offers that the data support, none of them assumed."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalsets.core import GoalsetsError, Query, read_layout
from goalsets.core.grammar import NAME_PATTERN
from goalsets.data.flatten import FieldSpec
from goalsets.data.propose import propose_layout

ROWS = 500


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def angle(rng, rows=ROWS):
    turn = rng.uniform(-3, 3, rows)
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)


def quaternion(rng, rows=ROWS):
    values = rng.normal(size=(rows, 4))
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def one_hot(rng, size, rows=ROWS):
    return np.eye(size)[rng.integers(0, size, rows)]


def found(proposal):
    return {(o.kind, o.indices) for o in proposal.offers}


def propose(*parts, fields=None):
    data = np.concatenate(parts, axis=1).astype(np.float32)
    return propose_layout(fields or [FieldSpec("", data.shape[1])], data, "made")


def test_one_vector_without_names_is_one_group(rng):
    layout = propose(rng.normal(size=(ROWS, 7))).layout
    assert [(g.name, tuple(g.indices)) for g in layout.groups] == [("state", tuple(range(7)))]


def test_groups_have_the_names_of_keys_and_features(rng):
    fields = [
        FieldSpec("arm.pos", 2),
        FieldSpec("state", 2, ("gripper.pos", "wrist roll")),
        FieldSpec("task", 1),
    ]
    layout = propose(rng.normal(size=(ROWS, 5)), fields=fields).layout
    names = {g.name: tuple(g.indices) for g in layout.groups}
    assert names == {"arm.pos": (0, 1), "gripper.pos": (2,), "wrist_roll": (3,), "task_": (4,)}


@given(st.lists(st.text(max_size=6), min_size=1, max_size=6))
def test_any_names_become_names_of_the_query_language(names):
    fields = [FieldSpec("a", len(names), tuple(names)), *(FieldSpec(name, 1) for name in names)]
    layout = propose_layout(fields, np.zeros((3, 2 * len(names)))).layout
    assert len(layout.groups) == 2 * len(names)
    assert all(re.fullmatch(NAME_PATTERN, group.name) for group in layout.groups)


def test_offers_are_what_the_data_show_and_the_layout_assumes_none_of_them(rng):
    proposal = propose(
        rng.normal(size=(ROWS, 3)),
        quaternion(rng),
        angle(rng),
        one_hot(rng, 3),
        np.full((ROWS, 2), 0.5),
        rng.integers(0, 4, (ROWS, 1)),
    )
    assert found(proposal) == {
        ("quaternion", (3, 4, 5, 6)),
        ("angle", (7, 8)),
        ("one-hot", (9, 10, 11)),
        ("constant", (12, 13)),
        ("discrete", (14,)),
    }
    (group,) = proposal.layout.groups
    assert (group.metric, group.tolerance) == ("euclidean", pytest.approx(0.24, abs=0.03))
    evidence = {o.kind: o.evidence for o in proposal.offers}
    assert evidence["quaternion"] == "norm within 0.001 of 1 in 100% of 500 rows"
    assert evidence["one-hot"] == "one of them is 1 in each of 500 rows"
    assert evidence["discrete"] == "500 rows hold only 0, 1, 2, 3"
    assert evidence["constant"] == "500 rows hold only 0.5, 0.5"


def test_the_coordinates_of_ogbenchs_cubes_are_found(rng):
    turn = angle(rng)
    half = np.arctan2(turn[:, 1], turn[:, 0]) / 2
    cube = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    proposal = propose(rng.normal(size=(ROWS, 3)), cube, turn, rng.normal(size=(ROWS, 1)))
    assert {("quaternion", (3, 4, 5, 6)), ("angle", (7, 8))} <= found(proposal)


def test_a_field_of_four_is_a_quaternion_even_if_it_turns_about_one_axis(rng):
    planar = np.concatenate([np.zeros((ROWS, 2)), angle(rng)], axis=1)
    assert ("quaternion", (0, 1, 2, 3)) in found(propose(planar, fields=[FieldSpec("quat", 4)]))
    wider = propose(planar, rng.normal(size=(ROWS, 1)))
    assert ("angle", (2, 3)) in found(wider)
    assert all(kind != "quaternion" for kind, _ in found(wider))


def test_what_only_looks_like_it_is_not_offered(rng):
    noisy = angle(rng) * rng.normal(1, 0.01, (ROWS, 1))
    still = np.tile([0.6, 0.8], (ROWS, 1))
    direction = quaternion(rng)[:, :3]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    few = np.concatenate([angle(rng), np.zeros((ROWS, 1))], axis=1)
    few[10:] = np.nan
    for part in (
        noisy,
        still,
        np.concatenate([direction, np.zeros((ROWS, 1)), noisy], axis=1),
        few,
    ):
        assert not {"angle", "quaternion"} & {kind for kind, _ in found(propose(part))}


def test_fields_are_not_joined(rng):
    turn = angle(rng)
    fields = [FieldSpec("a", 1), FieldSpec("b", 1)]
    assert found(propose(turn, fields=fields)) == set()


def test_rows_with_gaps_are_passed_over_and_a_few_bad_rows_forgiven(rng):
    turn = angle(rng, 5000)
    turn[:100] = np.nan
    turn[200:203] = 0
    proposal = propose_layout([FieldSpec("yaw", 2)], turn)
    assert found(proposal) == {("angle", (0, 1))}
    assert proposal.offers[0].evidence == "norm within 0.001 of 1 in 99.94% of 4900 rows"


def test_tolerances_are_a_share_of_the_range_without_outliers(rng):
    values = rng.uniform(-1, 1, (10_000, 2)) * [1, 10]
    values[0] = 1e6
    proposal = propose_layout([FieldSpec("pos", 2)], values)
    assert proposal.offers == ()
    assert proposal.layout.group("pos").tolerance == pytest.approx(0.05 * 19.6, rel=0.02)
    assert proposal.tolerances["pos"].startswith("5% of the range of 98% of its values, 19.")


def test_every_group_has_a_tolerance(rng):
    """Also one that hardly ever moves, or never."""
    rare, still = np.zeros((ROWS, 1)), np.full((ROWS, 1), 4.0)
    rare[0] = 10.0
    fields = [FieldSpec(name, 1) for name in ("rare", "still", "zero")]
    proposal = propose(rare, still, np.zeros((ROWS, 1)), fields=fields)
    assert [group.tolerance for group in proposal.layout.groups] == [0.5, 0.2, 0.05]
    assert proposal.tolerances == {
        "rare": "5% of its range, 10",
        "still": "it never changes: 5% of 4",
        "zero": "it never changes: 5% of 1",
    }


def test_angles_and_rotations_are_offered_with_a_tolerance(rng):
    proposal = propose(angle(rng), quaternion(rng), fields=[FieldSpec("a", 2), FieldSpec("q", 4)])
    layout = proposal.adopt(*proposal.offers)
    assert layout.group("a").say(layout.group("a").tolerance) == "9 deg"
    assert layout.group("q").say(layout.group("q").tolerance) == "9 deg"
    assert "# a: {indices: '0:2', metric: angle, tolerance: 9deg}" in proposal.to_yaml()
    assert "# q: {indices: '2:6', metric: quaternion, tolerance: 9deg}" in proposal.to_yaml()


def test_the_name_of_a_field_stands_for_all_its_coordinates(rng):
    fields = [FieldSpec("speed", 2), FieldSpec("arm.state", 3, ("pan", "lift", "grip"))]
    proposal = propose(rng.normal(size=(ROWS, 5)), fields=fields)
    assert proposal.layout.aliases == {"arm.state": "[2:5]"}
    query = Query.parse("arm.state", proposal.layout)
    assert str(query) == "pan & lift & grip"
    assert all(term.tolerance for term in query.terms)
    same = [FieldSpec("pan", 2, ("pan", "lift")), FieldSpec("", 3, ("a", "b", "c"))]
    assert propose(rng.normal(size=(ROWS, 5)), fields=same).layout.aliases == {}


def test_units_that_names_end_with_are_taken(rng):
    names = ("elbow_deg", "x [mm]", "lift (m)", "arm_m", "degrees", "wrist_rad")
    layout = propose(rng.normal(size=(ROWS, 6)), fields=[FieldSpec("", 6, names)]).layout
    assert [group.unit for group in layout.groups] == ["deg", "mm", "m", "", "", "rad"]
    assert Query.parse("elbow_deg:5deg & x_mm:1cm", layout).terms[1].tolerance == 10.0


def test_offers_can_be_adopted_together(rng):
    proposal = propose(rng.normal(size=(ROWS, 2)), angle(rng), np.zeros((ROWS, 1)), one_hot(rng, 2))
    layout = proposal.adopt(*proposal.offers)
    groups = {g.name: (g.metric, tuple(g.indices)) for g in layout.groups}
    assert groups == {
        "state": ("euclidean", (0, 1)),
        "state_angle_2": ("angle", (2, 3)),
        "state_onehot_5": ("exact", (5, 6)),
    }
    assert layout.owners[4] is None
    assert layout.group("state").tolerance == proposal.layout.group("state").tolerance


def test_named_coordinates_join_in_a_group_of_their_own(rng):
    fields = [FieldSpec("state", 3, ("x", "cos_yaw", "sin_yaw"))]
    proposal = propose(rng.normal(size=(ROWS, 1)), angle(rng), fields=fields)
    layout = proposal.adopt(proposal.offers[0])
    assert [g.name for g in layout.groups] == ["x", "cos_yaw_angle_1"]


def test_the_file_reads_back_and_its_comments_are_the_way_to_adopt(rng, tmp_path):
    on = FieldSpec("on", 3, ("x", "y", "no"))
    fields = [on, FieldSpec("yaw", 2), FieldSpec("", 4), FieldSpec("still", 1)]
    proposal = propose(
        rng.normal(size=(ROWS, 3)),
        angle(rng),
        one_hot(rng, 2),
        angle(rng),
        np.zeros((ROWS, 1)),
        fields=fields,
    )
    path = tmp_path / "layout.yaml"
    path.write_text(proposal.to_yaml())
    assert read_layout(path) == proposal.layout
    assert {o.kind for o in proposal.offers} == {"angle", "one-hot", "constant"}
    for offer in proposal.offers:
        gone, new = proposal.yaml_lines(offer)
        assert all(f"  # {line}" in proposal.to_yaml() for line in new)
        assert offer.evidence in proposal.to_yaml()
        kept = [
            line
            for line in proposal.to_yaml().splitlines()
            if not line.startswith(
                tuple(f"  {quote}{name}{quote}:" for name in gone for quote in ("", "'"))
            )
        ]
        path.write_text("\n".join([*kept, *(f"  {line}" for line in new)]) + "\n")
        adopted, read = proposal.adopt(offer), read_layout(path)
        assert read.by_name == adopted.by_name


def test_a_sample_that_does_not_fit_the_fields_is_explained():
    with pytest.raises(GoalsetsError, match=r"expected a sample of shape \[N, 3\], got \[5, 2\]"):
        propose_layout([FieldSpec("", 3)], np.zeros((5, 2)))


def test_an_empty_sample_offers_nothing():
    assert propose_layout([FieldSpec("", 3)], np.zeros((0, 3))).offers == ()
