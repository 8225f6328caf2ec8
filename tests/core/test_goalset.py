"""Goal sets: membership, its invariances, and the same answers from numpy and torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from goalsets import GoalSet, Group, Query, StateLayout
from goalsets.core import GoalSetError
from goalsets.core.goalset import all_terms_hold, mean_squared_distance
from tests.core.strategies import layouts, queries, states

CUBE = StateLayout(
    dim=12,
    groups=[
        Group("pos", (0, 1, 2), unit="m", scale=10, tolerance=0.4),
        Group("yaw", (3, 4), "angle").with_tolerance("20deg"),
        Group("quat", (5, 6, 7, 8), "quaternion").with_tolerance("20deg"),
        Group("opening", (9,), "absolute", tolerance=0.1),
        Group("button", (10,), "exact"),
    ],
    name="cube",
)


def state(**parts: object) -> np.ndarray:
    """A state of zeros, a unit yaw and a unit quaternion, with some groups replaced."""
    values = np.zeros(12)
    values[3] = values[5] = 1.0
    for name, part in parts.items():
        values[list(CUBE.group(name).indices)] = part
    return values


def rotation(degrees: float) -> list[float]:
    half = math.radians(degrees) / 2
    return [math.cos(half), 0.0, 0.0, math.sin(half)]


def heading(degrees: float) -> list[float]:
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]


WORKED = [
    ("pos", state(pos=[0.39, 0, 0]), True, 0.39),
    ("pos", state(pos=[0.41, 0, 0]), False, 0.41),
    ("pos", state(pos=[0.3, 0.3, 0]), False, math.sqrt(0.18)),
    ("yaw", state(yaw=heading(19.9)), True, 2 * math.sin(math.radians(19.9) / 2)),
    ("yaw", state(yaw=heading(20.1)), False, 2 * math.sin(math.radians(20.1) / 2)),
    ("yaw", state(yaw=heading(-19.9)), True, 2 * math.sin(math.radians(19.9) / 2)),
    ("quat", state(quat=rotation(19.9)), True, math.radians(19.9)),
    ("quat", state(quat=rotation(20.1)), False, math.radians(20.1)),
    ("quat", state(quat=[-x for x in rotation(19.9)]), True, math.radians(19.9)),
    ("quat", state(quat=rotation(180)), False, math.pi),
    ("quat", state(quat=rotation(359)), True, math.radians(1)),
    ("opening", state(opening=-0.09), True, 0.09),
    ("opening", state(opening=0.11), False, 0.11),
    ("button", state(button=0), True, 0.0),
    ("button", state(button=1), False, 1.0),
]


@pytest.mark.parametrize(("text", "reached", "inside", "distance"), WORKED)
def test_worked_cases(text: str, reached: np.ndarray, inside: bool, distance: float) -> None:
    goals = GoalSet(state(), Query.parse(text, CUBE))
    assert goals.contains(reached) == inside
    (violation,) = goals.violations(reached)
    assert violation.name == text
    assert violation.distance == pytest.approx(distance)
    assert violation.satisfied == inside


def test_paper_distance() -> None:
    """d_q = (1/‖q‖₀) Σ qᵢ (sᵢ − gᵢ)², by hand."""
    goals = GoalSet(state(), Query.parse("pos & opening", CUBE), epsilon=0.08)
    reached = state(pos=[0.4, 0.2, 0.0], opening=0.2, yaw=[9.0, 9.0])
    assert goals.distance(reached) == pytest.approx((0.16 + 0.04 + 0.0 + 0.04) / 4)
    assert goals.contains(reached)
    assert not GoalSet(state(), goals.query, epsilon=0.05).contains(reached)
    (violation,) = goals.violations(reached)
    assert (violation.name, violation.tolerance) == ("d_q", 0.08)


def test_conjunction_needs_every_term() -> None:
    goals = GoalSet(state(), Query.parse("pos & yaw", CUBE))
    assert goals.contains(state())
    assert not goals.contains(state(yaw=heading(90)))
    assert not goals.contains(state(pos=[1, 0, 0]))


def test_tolerances_of_the_goal_set_win() -> None:
    query = Query.parse("pos:1cm & yaw", CUBE)
    reached = state(pos=[0.3, 0, 0], yaw=heading(30))
    assert not GoalSet(state(), query).contains(reached)
    assert GoalSet(state(), query, {"pos": 0.35, "yaw": "31deg"}).contains(reached)


def test_leading_shapes_broadcast() -> None:
    references = np.stack([state(), state(pos=[1, 0, 0])])
    goals = GoalSet(references, Query.parse("pos", CUBE))
    visited = np.stack([state(), state(pos=[1, 0, 0]), state(pos=[2, 0, 0])])
    inside = goals.contains(visited[:, None])
    assert inside.tolist() == [[True, False], [False, True], [False, False]]
    assert goals.contains(np.zeros((0, 1, 12))).shape == (0, 2)
    assert goals.contains(state()).tolist() == [True, False]


def test_not_a_number_is_outside_where_it_matters_only() -> None:
    for text in ("pos", "yaw", "quat", "opening", "button", "[11]:1"):
        goals = GoalSet(state(), Query.parse(text, CUBE))
        broken = state()
        broken[list(goals.query.indices)] = np.nan
        assert not goals.contains(broken)
        elsewhere = np.where(goals.query.mask, state(), np.nan)
        assert goals.contains(elsewhere)


ERRORS = {
    "references over layout 'cube' need 12 coordinates in their last axis, got shape (3,)": (
        lambda: GoalSet(np.zeros(3), Query.all(CUBE), {"[11]": 1})
    ),
    "states over layout 'cube' need 12 coordinates in their last axis, got shape (12, 1)": (
        lambda: GoalSet(state(), Query.parse("pos", CUBE)).contains(np.zeros((12, 1)))
    ),
    "got shape ()": lambda: GoalSet(state(), Query.parse("pos", CUBE)).contains(1.0),
    "cannot pair states of leading shape (5,) with references of leading shape (3,)": (
        lambda: GoalSet(np.zeros((3, 12)), Query.parse("pos", CUBE)).contains(np.zeros((5, 12)))
    ),
    "a reference must be finite: coordinate 4 (yaw) is nan": (
        lambda: GoalSet(state(yaw=[1, np.nan]), Query.parse("pos", CUBE))
    ),
    "a reference must be finite: coordinate 11 is inf": (
        lambda: GoalSet([[0.0] * 11 + [math.inf]], Query.parse("pos", CUBE))
    ),
    "no tolerance is known for [11]: write one into the query, as in '[11]:0.1'": (
        lambda: GoalSet(state(), Query.all(CUBE))
    ),
    "epsilon must be 0 or more, got -1": (lambda: GoalSet(state(), Query.all(CUBE), epsilon=-1)),
    "a relaxed set has one epsilon: it takes no tolerances": (
        lambda: GoalSet(state(), Query.parse("pos", CUBE), {"pos": 1}, epsilon=1)
    ),
    "states must be numbers": (
        lambda: GoalSet(state(), Query.parse("pos", CUBE)).contains(["a"] * 12)
    ),
    "got a ragged sequence": (
        lambda: GoalSet(state(), Query.parse("pos", CUBE)).contains([[0.0], [0.0, 1.0]])
    ),
}


@pytest.mark.parametrize(("message", "act"), ERRORS.items(), ids=list(ERRORS))
def test_errors(message: str, act) -> None:
    with pytest.raises(GoalSetError) as caught:
        act()
    assert message in str(caught.value)


# --- Properties -------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> tuple[Query, np.ndarray, np.ndarray]:
    """A query with known tolerances, a reference, and a few states."""
    layout = draw(layouts())
    return draw(queries(layout, complete=True)), draw(states(layout)), draw(states(layout, 4))


@given(problems())
def test_reference_is_in_its_own_set(problem) -> None:
    query, reference, _ = problem
    assert GoalSet(reference, query).contains(reference)
    assert GoalSet(reference, query, epsilon=0.0).contains(reference)


@given(problems(), st.data())
def test_inactive_coordinates_do_not_matter(problem, data: st.DataObject) -> None:
    query, reference, visited = problem
    elsewhere = data.draw(states(query.layout, 4))
    changed = np.where(query.mask, visited, elsewhere)
    for goals in (GoalSet(reference, query), GoalSet(reference, query, epsilon=1.0)):
        assert (goals.contains(visited) == goals.contains(changed)).all()
        assert (goals.distance(visited) == goals.distance(changed)).all()


@given(problems())
def test_a_quaternion_and_its_negative_are_one_rotation(problem) -> None:
    query, reference, visited = problem
    flipped = visited.copy()
    for group in query.layout.groups:
        if group.metric == "quaternion":
            flipped[:, list(group.indices)] *= -1
    goals = GoalSet(reference, query)
    assert (goals.contains(visited) == goals.contains(flipped)).all()


@given(problems(), st.data())
def test_adding_a_requirement_never_enlarges(problem, data: st.DataObject) -> None:
    query, reference, visited = problem
    other = data.draw(queries(query.layout, complete=True))
    both = GoalSet(reference, query & other).contains(visited)
    assert not (both & ~GoalSet(reference, query).contains(visited)).any()
    assert not (both & ~GoalSet(reference, other).contains(visited)).any()


@given(problems(), st.data())
def test_joining_whole_groups_is_intersection(problem, data: st.DataObject) -> None:
    query, reference, visited = problem
    other = data.draw(queries(query.layout, complete=True))
    shared = {t.name for t in query.terms} & {t.name for t in other.terms}
    parts = [t for t in (*query.terms, *other.terms) if t.name in shared]
    assume(all(term.whole for term in parts))
    left, right = GoalSet(reference, query), GoalSet(reference, other)
    both = GoalSet(reference, query & other).contains(visited)
    assert (both == (left.contains(visited) & right.contains(visited))).all()


@given(problems(), st.sampled_from([np.float32, np.float64]))
def test_torch_and_numpy_agree(problem, dtype: type) -> None:
    query, reference, visited = problem
    reference, visited = reference.astype(dtype), visited.astype(dtype)
    for epsilon in (None, 1.0):
        goals = GoalSet(reference, query, epsilon=epsilon)
        tensor = goals.contains(torch.as_tensor(visited))
        assert isinstance(tensor, torch.Tensor)
        assert tensor.tolist() == goals.contains(visited).tolist()
        from_tensor = GoalSet(torch.as_tensor(reference), query, epsilon=epsilon)
        assert from_tensor.contains(visited).tolist() == tensor.tolist()
        np.testing.assert_allclose(
            goals.distance(torch.as_tensor(visited)).numpy(), goals.distance(visited), rtol=1e-6
        )


@given(st.data())
def test_a_mask_for_each_row_agrees_with_one_query(data: st.DataObject) -> None:
    layout = data.draw(layouts(complete=True))
    asked = [data.draw(queries(layout)) for _ in range(4)]
    asked = [Query(layout, query.mask) for query in asked]
    references, visited = data.draw(states(layout, 4)), data.draw(states(layout, 4))
    masks = np.stack([query.mask for query in asked])
    held = all_terms_hold(layout, visited, references, masks)
    apart = mean_squared_distance(visited, references, masks)
    for row, query in enumerate(asked):
        goals = GoalSet(references[row], query)
        assert held[row] == goals.contains(visited[row])
        assert apart[row] == pytest.approx(goals.distance(visited[row]))
    as_tensors = [torch.as_tensor(x) for x in (visited, references, masks)]
    assert all_terms_hold(layout, *as_tensors).tolist() == held.tolist()
    assert mean_squared_distance(*as_tensors).tolist() == pytest.approx(apart.tolist())
