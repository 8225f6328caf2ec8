"""Queries: the language, the algebra, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalsets import Group, Query, StateLayout
from goalsets.core import QueryError
from tests.core.strategies import layouts, queries

LAYOUT = StateLayout(
    dim=12,
    groups=[
        Group("joint_vel", (0, 1), unit="rad/s", tolerance=0.5),
        Group("eff_pos", (2, 3, 4), unit="m", scale=10, tolerance=0.4),
        Group("eff_yaw", (5, 6), "angle").with_tolerance("20deg"),
        Group("quat", (7, 8, 9, 10), "quaternion"),
    ],
    aliases={"pose": "eff_pos & eff_yaw", "near": "pose & eff_pos:1cm"},
    task="eff_pos",
    name="arm",
)


@given(st.data())
def test_printing_and_parsing_is_the_identity(data: st.DataObject) -> None:
    query = data.draw(queries(data.draw(layouts())))
    again = Query.parse(str(query), query.layout)
    assert again == query
    assert hash(again) == hash(query)


MEANINGS = {
    "eff_pos": [2, 3, 4],
    "eff_pos & eff_yaw": [2, 3, 4, 5, 6],
    "pose": [2, 3, 4, 5, 6],
    "task": [2, 3, 4],
    "all": list(range(12)),
    "all - joint_vel": list(range(2, 12)),
    "all - joint_vel - quat": [2, 3, 4, 5, 6, 11],
    "all - (joint_vel & quat)": [2, 3, 4, 5, 6, 11],
    "all - joint_vel & [0]": [0, *range(2, 12)],
    "[3,7]": [3, 7],
    "[ 2 : 4 , 11 ]": [2, 3, 11],
    "[:3]": [0, 1, 2],
    "[10:]": [10, 11],
    "  eff_pos&eff_yaw ": [2, 3, 4, 5, 6],
    "eff_pos - [3]": [2, 4],
}


@pytest.mark.parametrize(("text", "coordinates"), MEANINGS.items())
def test_meaning(text: str, coordinates: list[int]) -> None:
    assert list(Query.parse(text, LAYOUT).indices) == coordinates


TOLERANCES = {
    "eff_pos:0.3": {"eff_pos": 0.3},
    "eff_pos:3cm": {"eff_pos": 0.3},
    "eff_pos:30 mm": {"eff_pos": 0.3},
    "eff_pos:0.03m": {"eff_pos": 0.3},
    "eff_pos:.3e0": {"eff_pos": 0.3},
    "eff_yaw:10deg": {"eff_yaw": 2 * math.sin(math.radians(5))},
    "eff_yaw:400deg": {"eff_yaw": 2.0},
    "quat:10deg": {"quat": math.radians(10)},
    "[11]:0.2": {"[11]": 0.2},
    "[2,3]:0.2": {"eff_pos": 0.2},
    "eff_pos:0.4": {},  # the layout's default
    "eff_pos:0.3 & eff_pos:0.2": {"eff_pos": 0.2},  # both must hold
    "eff_pos & eff_pos:0.9": {},  # both must hold, and the default is the smaller
    "near": {"eff_pos": 0.1},
    "near - eff_pos": {},
    "(eff_pos:0.1):0.9": {"eff_pos": 0.9},  # the same requirement, said anew
}


@pytest.mark.parametrize(("text", "tolerances"), TOLERANCES.items())
def test_tolerances(text: str, tolerances: dict[str, float]) -> None:
    assert Query.parse(text, LAYOUT).tolerances == pytest.approx(tolerances)


def test_printing_is_pleasant() -> None:
    assert str(Query.parse("[5,6]:15deg & [2:5]", LAYOUT)) == "eff_pos & eff_yaw:15deg"
    assert str(Query.parse("[11] & [2,3]", LAYOUT)) == "[2:4] & [11]"
    assert str(Query.all(LAYOUT)) == "all"
    assert repr(Query.parse("task", LAYOUT)) == "Query('eff_pos', layout='arm')"


ERRORS = {
    "": "an empty query has no goal",
    "  ": "an empty query has no goal",
    "none": "an empty query has no goal",
    "eff_pos & none": "'none' asks for nothing",
    "eff_pos - eff_pos": "leaves no coordinate: an empty query has no goal",
    "ef_pos": "unknown group 'ef_pos': did you mean 'eff_pos'",
    "zzzzzz": "valid names: joint_vel, eff_pos, eff_yaw, quat, pose, near, all, task",
    "[12]": "index 12 is out of bounds: this state has coordinates 0 to 11",
    "[-1]": "index -1 is out of bounds",
    "[9:14]": "index 13 is out of bounds",
    "[5:5]": "the span 5:5 is empty",
    "[]": "expected a coordinate such as 19 or a span such as 19:22, found ']'",
    "[3": "expected ',', ':' or ']', found the end",
    "eff_pos &": "expected a group name, '[' or '(', found the end",
    "eff_pos eff_yaw": "expected '&', '-' or the end of the query, found 'e'",
    "(eff_pos": "expected '&', '-' or ')', found the end",
    "eff_pos:": "expected a tolerance such as 0.4 or 20deg, found the end",
    "eff_pos:-0.4": "the tolerance of 'eff_pos' must be 0 or more, got -0.4",
    "eff_yaw:-20deg": "the tolerance of 'eff_yaw' must be 0 or more, got -20",
    "eff_pos:nan": "the tolerance of 'eff_pos' must be 0 or more, got nan",
    "eff_pos:1e999": "the tolerance of 'eff_pos' must be 0 or more, got inf",
    "eff_pos:3deg": "'eff_pos' is measured in m: it cannot take 'deg'",
    "joint_vel:3cm": "'joint_vel' is measured in rad/s: it cannot take 'cm'",
    "[11]:3cm": "'[11]' is measured in observation units only: it cannot take 'cm'",
    "eff_pos:3feet": "unknown unit 'feet'",
    "pose:0.2": "joins 'eff_pos' and 'eff_yaw', which are measured in different ways",
    "all - eff_pos:0.2": "is removed with '-', so it takes no tolerance",
    "(" * 60 + "eff_pos" + ")" * 60: "at most 50 nested parentheses",
    "eff_pos & " * 2000 + "eff_pos": "10000 characters at most",
    "all&" * 2000 + "all": "at most 256 parts",
    "[" + "9" * 5000 + "]": "a coordinate of at most 9 digits",
}


@pytest.mark.parametrize(("text", "message"), ERRORS.items(), ids=[t[:20] for t in ERRORS])
def test_errors(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        Query.parse(text, LAYOUT)
    assert message in str(caught.value)


def test_error_points_at_its_place() -> None:
    with pytest.raises(QueryError) as caught:
        Query.parse("eff_pos & & eff_yaw", LAYOUT)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("cannot read the query at column 11")
    assert lines[1][lines[2].index("^")] == "&"
    assert lines[2].index("^") == len("  eff_pos & ")


@given(st.text(alphabet="ef_pos&-:()[],0123.deg ", max_size=30))
def test_any_text_parses_or_is_refused_politely(text: str) -> None:
    try:
        query = Query.parse(text, LAYOUT)
    except QueryError:
        return
    assert Query.parse(str(query), LAYOUT) == query


def test_task_needs_a_task() -> None:
    layout = StateLayout(2, [], name="bare")
    with pytest.raises(QueryError, match="layout 'bare' has no task"):
        Query.parse("task", layout)


MASK_ERRORS = {
    r"needs a mask of shape \(12,\), got \(3,\)": np.ones(3, bool),
    r"needs a mask of shape \(12,\), got \(1, 12\)": np.ones((1, 12), bool),
    "an empty query has no goal": np.zeros(12, bool),
    "only True and False": np.full(12, 0.5),
}


@pytest.mark.parametrize(("message", "mask"), MASK_ERRORS.items())
def test_mask_errors(message: str, mask: np.ndarray) -> None:
    with pytest.raises(QueryError, match=message):
        Query(LAYOUT, mask)


def test_tolerance_errors() -> None:
    query = Query.parse("eff_pos", LAYOUT)
    with pytest.raises(QueryError, match="'eff_yaw', but the query asks only for"):
        query.with_tolerances({"eff_yaw": 0.1})
    with pytest.raises(QueryError, match="unknown group 'eff_poss': did you mean 'eff_pos'"):
        query.with_tolerances({"eff_poss": 0.1})
    with pytest.raises(QueryError, match="must look like 0.4 or 20deg, got 'near'"):
        query.with_tolerances({"eff_pos": "near"})
    with pytest.raises(QueryError, match="but the query asks only for"):
        Query(LAYOUT, query.mask, {"eff_yaw": 0.1})


def test_queries_of_different_layouts_do_not_mix() -> None:
    other = StateLayout(12, [], name="other")
    with pytest.raises(QueryError, match="over layout 'arm' with one over 'other'"):
        _ = Query.all(LAYOUT) & Query.all(other)


def test_immutable() -> None:
    mask = np.ones(12, bool)
    query = Query(LAYOUT, mask)
    mask[0] = False
    assert query.mask.all()
    with pytest.raises(ValueError, match="read-only"):
        query.mask[0] = False


@given(st.data())
def test_algebra(data: st.DataObject) -> None:
    layout = data.draw(layouts())
    a, b = data.draw(queries(layout)), data.draw(queries(layout))
    both = a & b
    assert both == b & a
    assert (both.mask == (a.mask | b.mask)).all()
    assert a & a == a
    if (a.mask & ~b.mask).any():
        assert ((a - b).mask == (a.mask & ~b.mask)).all()
