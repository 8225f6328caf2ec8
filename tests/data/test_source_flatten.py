"""Flattening: nested dictionaries and flat vectors say the same, in a declared order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalsets.core import GoalsetsError
from goalsets.data.flatten import (
    FieldSpec,
    choose_fields,
    flatten,
    leaves,
    total_size,
    unflatten,
    vector_shape,
)

KEYS = st.text("abcxyz_", min_size=1, max_size=4)
TREES = st.recursive(
    st.integers(1, 4),
    lambda part: st.dictionaries(KEYS, part, min_size=1, max_size=3),
    max_leaves=8,
).filter(lambda tree: isinstance(tree, dict))


def fill(tree, rng, rows):
    if isinstance(tree, dict):
        return {key: fill(part, rng, rows) for key, part in tree.items()}
    return rng.normal(size=(rows, tree)).astype(np.float32)


def shapes(tree):
    return {key: vector_shape(leaf.shape[1:], leaf.dtype) for key, leaf in leaves(tree).items()}


@given(TREES, st.integers(0, 5), st.randoms(use_true_random=False))
def test_unflatten_undoes_flatten_in_any_order(sizes, rows, random):
    tree = fill(sizes, np.random.default_rng(0), rows)
    order = list(leaves(tree))
    random.shuffle(order)
    for declared in ((), order):
        fields, left_out = choose_fields(shapes(tree), declared)
        assert not left_out
        assert [field.name for field in fields] == (list(declared) or sorted(order))
        flat = flatten(tree, fields)
        assert flat.shape == (rows, total_size(fields))
        back = leaves(unflatten(flat, fields))
        assert back.keys() == leaves(tree).keys()
        for key, leaf in leaves(tree).items():
            np.testing.assert_array_equal(back[key], leaf)


def test_the_default_order_does_not_depend_on_how_the_dictionary_was_built():
    one = {"b": np.ones((2, 1)), "a": {"z": np.ones((2, 2)), "c": np.ones(2)}}
    two = {"a": {"c": np.ones(2), "z": np.ones((2, 2))}, "b": np.ones((2, 1))}
    assert choose_fields(shapes(one)) == choose_fields(shapes(two))
    fields, _ = choose_fields(shapes(one))
    assert fields == (FieldSpec("a.c", 1), FieldSpec("a.z", 2), FieldSpec("b", 1))


def test_scalars_tuples_and_other_dtypes_count():
    tree = {
        "t": (np.arange(3), np.array([[True], [False], [True]])),
        "x": np.arange(6.0).reshape(3, 2),
    }
    fields, _ = choose_fields(shapes(tree))
    flat = flatten(tree, fields)
    assert flat.dtype == np.float32
    assert flat.tolist() == [[0, 1, 0, 1], [1, 0, 2, 3], [2, 1, 4, 5]]


def test_one_observation_flattens_like_a_trajectory():
    fields = (FieldSpec("b", 2), FieldSpec("a", 1))
    assert flatten({"a": 3.0, "b": [1, 2]}, fields, leading=0).tolist() == [1, 2, 3]


def test_a_lone_array_has_no_name():
    fields, _ = choose_fields(shapes(np.ones((4, 3))))
    assert fields == (FieldSpec("", 3),)
    assert flatten(np.ones((4, 3)), fields).shape == (4, 3)


def test_what_is_no_vector_is_left_out_unless_somebody_asks_for_it():
    tree = {
        "image": np.zeros((2, 8, 8, 3), np.uint8),
        "pos": np.zeros((2, 3)),
        "say": np.array(["", ""]),
    }
    fields, left_out = choose_fields(shapes(tree))
    assert fields == (FieldSpec("pos", 3),)
    assert left_out == ("image", "say")
    with pytest.raises(GoalsetsError, match=r"'image' has shape \(8, 8, 3\): expected a vector"):
        choose_fields(shapes(tree), ["image"])
    with pytest.raises(GoalsetsError, match="no observation key holds vectors of numbers: 'image'"):
        choose_fields({"image": (8, 8, 3)})


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["poss"], "unknown observation key 'poss': did you mean 'pos'"),
        (["pos", "pos"], "'pos' twice"),
    ],
)
def test_a_wrong_order_is_explained(order, message):
    with pytest.raises(GoalsetsError, match=message):
        choose_fields({"pos": (3,)}, order)


def test_what_does_not_fit_the_fields_is_explained():
    fields = (FieldSpec("a", 1), FieldSpec("b", 2))
    with pytest.raises(GoalsetsError, match="the observation has no 'b'"):
        flatten({"a": np.ones(3)}, fields)
    with pytest.raises(GoalsetsError, match=r"'b' needs 2 coordinates, got shape \(3,\)"):
        flatten({"a": np.ones(3), "b": np.ones((3, 3))}, fields)
    with pytest.raises(GoalsetsError, match="'b' has 4 rows, but 'a' has 3"):
        flatten({"a": np.ones(3), "b": np.ones((4, 2))}, fields)
    with pytest.raises(GoalsetsError, match="3 coordinates together, got 4"):
        unflatten(np.ones((2, 4)), fields)
    with pytest.raises(GoalsetsError, match="no fields"):
        flatten({}, ())
    with pytest.raises(GoalsetsError, match="two entries of the observation have the dotted key"):
        leaves({"a.b": 1, "a": {"b": 2}})


def test_a_field_needs_coordinates_and_a_name_for_each_or_none():
    with pytest.raises(GoalsetsError, match="no coordinates"):
        FieldSpec("a", 0)
    with pytest.raises(GoalsetsError, match="2 coordinates, got 1 names"):
        FieldSpec("a", 2, ("x",))
