"""Layouts: what they accept, what they refuse and in which words, and that files round-trip."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalsets import Group, StateLayout, read_layout, write_layout
from goalsets.core import LayoutError, layout_from_dict, layout_to_dict
from goalsets.core.objects import families
from tests.core.strategies import layouts


@given(layouts())
def test_plain_data_round_trips(layout: StateLayout) -> None:
    assert layout_from_dict(layout_to_dict(layout)) == layout


@given(layout=layouts(), suffix=st.sampled_from([".yaml", ".yml", ".json"]))
def test_files_round_trip(layout: StateLayout, suffix: str, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("layout") / f"layout{suffix}"
    write_layout(layout, path)
    again = read_layout(path)
    assert again == layout
    assert hash(again) == hash(layout)


def test_file_as_a_person_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(
        """
name: my-arm
dim: 9
groups:
  eff_pos: {indices: "0:3", unit: m, scale: 10, tolerance: 4cm}
  eff_yaw: {indices: [3, 4], metric: angle, tolerance: 20deg}
  orientation: {indices: "5:9", metric: quaternion, tolerance: 10deg}
aliases:
  pose: eff_pos & eff_yaw
task: pose
"""
    )
    layout = read_layout(path)
    assert layout.group("eff_pos").indices == (0, 1, 2)
    assert layout.group("eff_pos").tolerance == pytest.approx(0.4)
    assert layout.group("eff_yaw").tolerance == pytest.approx(2 * math.sin(math.radians(10)))
    assert layout.group("orientation").tolerance == pytest.approx(math.radians(10))


def test_owners_and_descriptions() -> None:
    layout = StateLayout(3, [Group("pos", (0, 2))])
    assert [owner.name if owner else None for owner in layout.owners] == ["pos", None, "pos"]
    assert layout.describe(2) == "coordinate 2 (pos)"
    assert layout.describe(1) == "coordinate 1"


GROUP_ERRORS = {
    "group 'pos' has no coordinates": {"indices": ()},
    "group 'pos' names a coordinate twice: (1, 1)": {"indices": (1, 1)},
    "unknown metric 'euclidian', did you mean 'euclidean'?": {"metric": "euclidian"},
    "metric 'angle' needs 2 coordinates, got 3": {"metric": "angle"},
    "metric 'quaternion' needs 4 coordinates, got 3": {"metric": "quaternion"},
    "scale must be above 0, got 0.0": {"scale": 0.0},
    "the tolerance of 'pos' must be 0 or more, got -0.1": {"tolerance": -0.1},
    "the tolerance of 'pos' must be 0 or more, got nan": {"tolerance": math.nan},
    "'pos' is compared exactly: it takes no tolerance": {"metric": "exact", "tolerance": 0.1},
    "'all' is a word of the query language": {"name": "all"},
    "'a-b' cannot be the name of a group": {"name": "a-b"},
    "such as 'block*_pos' for 'block0_pos'; got 'block*_pos'": {"kind": "block*_pos"},
    "in place of the object, such as 'block*_pos' for 'block0_pos'; got 'pos'": {"kind": "pos"},
    "for 'block0_pos'; got 'p*o*s'": {"kind": "p*o*s"},
    "for 'block0_pos'; got 'pos*'": {"kind": "pos*"},
}


@pytest.mark.parametrize(("message", "change"), GROUP_ERRORS.items())
def test_group_errors(message: str, change: dict) -> None:
    fields = {"name": "pos", "indices": (0, 1, 2), **change}
    with pytest.raises(LayoutError) as caught:
        Group(**fields)
    assert message in str(caught.value)


POS = Group("pos", (0, 1))
LAYOUT_ERRORS = {
    "groups 'pos' and 'yaw' overlap at index 1": {"groups": [POS, Group("yaw", (1, 2))]},
    "two groups are called 'pos'": {"groups": [POS, Group("pos", (2,))]},
    "group 'far': index 7 is out of bounds, the state has coordinates 0 to 2": {
        "groups": [Group("far", (7,))]
    },
    "index -1 is out of bounds": {"groups": [Group("far", (-1,))]},
    "a layout needs at least one coordinate, got dim=0": {"dim": 0},
    "alias 'pos' has the name of a group": {"aliases": {"pos": "[2]"}},
    "'none' cannot be the name of an alias": {"aliases": {"none": "pos"}},
    "alias 'pose' refers to an unknown group 'poss': did you mean 'pos'": {
        "aliases": {"pose": "poss"}
    },
    "alias 'a' refers to itself: a -> b -> a": {"aliases": {"a": "b & pos", "b": "a"}},
    "alias 'broken': cannot read the query at column 7": {"aliases": {"broken": "pos & "}},
    "alias 'task' refers to an unknown group 'cube'": {"task": "cube"},
    "group 'cube' is relative to an unknown group 'hand'": {
        "groups": [Group("cube", (0, 1), relative_to="hand")]
    },
    "groups 'cube' and 'pos' cannot be compared: they differ in their number of coordinates": {
        "groups": [POS, Group("cube", (2,), relative_to="pos")]
    },
    "groups of the kind 'a*' must be relative to the same group": {
        "groups": [
            Group("a0", (2,), kind="a*", relative_to="y"),
            Group("a1", (3,), kind="a*", relative_to="z"),
            Group("y", (0,)),
            Group("z", (4,)),
        ],
        "dim": 5,
    },
    "groups 'a0' and 'a1' cannot be compared": {
        "groups": [Group("a0", (0,), unit="m", kind="a*"), Group("a1", (1,), kind="a*")]
    },
}


@pytest.mark.parametrize(("message", "change"), LAYOUT_ERRORS.items())
def test_layout_errors(message: str, change: dict) -> None:
    fields = {"dim": 3, "groups": [POS], **change}
    with pytest.raises(LayoutError) as caught:
        StateLayout(**fields)
    assert message in str(caught.value)


FILE_ERRORS = {
    "expected a mapping with 'dim' and 'groups'": "- 1\n- 2\n",
    "a layout needs 'dim'; got only 'groups'": "groups: {}\n",
    "a layout has an unknown entry 'grups': did you mean 'groups'?": "dim: 1\ngroups: {}\ngrups: 1",
    "'dim' must be a whole number, got 'three'": "dim: three\ngroups: {}\n",
    "'groups' must be a mapping, got [1]": "dim: 3\ngroups: [1]\n",
    "group 'a' must be a mapping, got 3": "dim: 3\ngroups: {a: 3}\n",
    "group 'a' needs 'indices'; got only 'metric'": "dim: 3\ngroups: {a: {metric: exact}}\n",
    "expected a span such as '19:22', got '0-2'": "dim: 3\ngroups: {a: {indices: 0-2}}\n",
    "an index must be a whole number, got 1.5": "dim: 3\ngroups: {a: {indices: [1.5]}}\n",
    "'scale' must be a number, got 'big'": "dim: 3\ngroups: {a: {indices: [1], scale: big}}\n",
    "must look like 0.4 or 20deg, got 'near'": "dim: 1\ngroups: {a: {indices: 0, tolerance: near}}",
    "is not YAML": "dim: [\n",
    "names 'a' twice": "dim: 3\ngroups:\n  a: {indices: 0}\n  a: {indices: 1}\n",
}


@pytest.mark.parametrize(("message", "text"), FILE_ERRORS.items())
def test_file_errors_name_the_file(message: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "layout.yaml"
    path.write_text(text)
    with pytest.raises(LayoutError) as caught:
        read_layout(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_json_errors(tmp_path: Path) -> None:
    path = tmp_path / "layout.json"
    path.write_text("{")
    with pytest.raises(LayoutError, match="is not JSON"):
        read_layout(path)
    path.write_text('{"dim": 1, "dim": 2, "groups": {}}')
    with pytest.raises(LayoutError, match="names 'dim' twice"):
        read_layout(path)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="No such file or directory"):
        read_layout(tmp_path / "absent.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LayoutError, match="it is not a text file"):
        read_layout(binary)


def test_unknown_group_suggests() -> None:
    layout = StateLayout(3, [POS])
    with pytest.raises(LayoutError, match="unknown group 'poss': did you mean 'pos'"):
        layout.group("poss")


def test_objects_follow_from_kinds() -> None:
    layout = StateLayout(
        9,
        [
            Group("left_cup/pos", (0, 1), kind="*_cup/pos", relative_to="hand"),
            Group("hand", (2, 3)),
            Group("right_cup/pos", (4, 5), kind="*_cup/pos", relative_to="hand"),
            Group("right_cup/full", (6,), "exact", kind="*_cup/full"),
            Group("left_cup/full", (7,), "exact", kind="*_cup/full"),
            Group("lamp0", (8,), kind="lamp*"),
        ],
    )
    found = {family.kinds: (family.names, family.has_place) for family in families(layout)}
    assert found == {
        ("*_cup/pos", "*_cup/full"): (("left", "right"), True),
        ("lamp*",): (("0",), False),
    }


def test_no_question_depends_on_kinds() -> None:
    """Runs and suites of before there were kinds are asked with the layouts of today."""
    plain = StateLayout(4, [Group("a0", (0, 1)), Group("hand", (2, 3))])
    told = StateLayout(4, [Group("a0", (0, 1), kind="a*", relative_to="hand"), plain.groups[1]])
    assert told == plain
    assert hash(told) == hash(plain)
    again = layout_from_dict(layout_to_dict(told)).group("a0")
    assert (again.kind, again.relative_to, again.object_name) == ("a*", "hand", "0")
