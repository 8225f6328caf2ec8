"""Arrivals are what they are defined to be: since when a goal set has held, state by state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goalsets import Episode, GoalSet, Group, Query, StateLayout
from goalsets.data.trajectories import Trajectories
from goalsets.relabel import held as tables
from goalsets.relabel.arrivals import ArrivalLabels, Arrivals
from goalsets.relabel.labels import Candidates
from goalsets.relabel.units import Rule, Unit
from tests.relabel import arriving

SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_arrivals_by_definition(rng: np.random.Generator) -> None:
    layout = arriving.some_layout(rng)
    data = arriving.some_trajectories(rng, layout.dim)
    arrivals = Arrivals(arriving.some_rule(rng, layout), data)
    rows = rng.integers(0, data.num_states, 40)
    masks = arriving.some_masks(rng, layout, 40)
    found = arrivals.arrival(rows, masks)
    expected = [
        arriving.arrival(arrivals.rule, data, row, mask)
        for row, mask in zip(rows, masks, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_whole_groups_are_judged_by_one_goal_set(rng: np.random.Generator) -> None:
    layout = arriving.some_layout(rng, tolerances=True)
    data = arriving.some_trajectories(rng, layout.dim)
    arrivals = Arrivals(arriving.some_rule(rng, layout), data)
    groups = [layout.groups[i] for i in rng.permutation(len(layout.groups))[:2]]
    mask = np.isin(np.arange(layout.dim), [i for group in groups for i in group.indices])
    query = Query(layout, mask)
    for start, stop in zip(data.offsets, data.offsets[1:], strict=False):
        states = data.observations[start:stop]
        for row in range(start, stop):
            inside = GoalSet(data.observations[row], query).contains(states[: row - start + 1])
            found = arrivals.arrival(np.array([row]), mask[None])[0]
            assert inside[found - start :].all()
            assert found == start or not inside[found - start - 1]
    assert "coordinates" not in vars(arrivals), "nobody asked for single coordinates"


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_holding_by_definition(rng: np.random.Generator) -> None:
    layout = arriving.some_layout(rng)
    rule = arriving.some_rule(rng, layout)
    states, goals = arriving.some_trajectories(rng, layout.dim, (60, 60))
    masks = arriving.some_masks(rng, layout, 60)
    found = rule.holds(states.observations, goals.observations, masks)
    expected = [
        arriving.contains(rule, goal, mask, state[None])[0]
        for state, goal, mask in zip(states.observations, goals.observations, masks, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_pieces_and_saturation_change_nothing_else(rng: np.random.Generator) -> None:
    """Long episodes are computed in parts that look back on one another, up to a limit."""
    layout = arriving.some_layout(rng)
    data = arriving.some_trajectories(rng, layout.dim, (70, 3, 1, 40))
    units = arriving.some_rule(rng, layout).groups
    whole = np.concatenate(list(tables.held(data.observations, data.offsets, units)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_PIECE", 16)
        parts = list(tables.held(data.observations, data.offsets, units))
        np.testing.assert_array_equal(np.concatenate(parts), whole)
        assert len(parts) > 5
        patch.setattr(tables, "MOST", 9)
        parts = list(tables.held(data.observations, data.offsets, units))
        np.testing.assert_array_equal(np.concatenate(parts), np.minimum(whole, 9))


def test_held_by_hand() -> None:
    """Drifting counts from where it is now; leaving and coming back counts from the return."""
    values = np.array([[0.0], [0.2], [0.4], [0.6], [5.0], [0.6], [0.6]], np.float32)
    unit = Unit((0,), "absolute", 0.5)
    (found,) = tables.held(values, np.array([0, 7]), [unit])
    assert found[:, 0].tolist() == [0, 1, 2, 2, 0, 0, 1]
    (found,) = tables.held(values, np.array([0, 2, 7]), [unit])
    assert found[:, 0].tolist() == [0, 1, 0, 1, 0, 0, 1]


def test_more_than_fits() -> None:
    still = np.zeros((70_000, 1), np.float32)
    still[0] = 1.0
    unit = Unit((0,), "absolute", 0.5)
    found = np.concatenate(list(tables.held(still, np.array([0, 70_000]), [unit])))[:, 0]
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found[1:], np.minimum(np.arange(69_999), 65_535))


def test_what_is_not_a_number_holds_nothing() -> None:
    values = np.zeros((6, 2), np.float32)
    values[2, 0], values[4, 1] = np.nan, np.inf
    units = [
        Unit((0, 1), "euclidean", 1.0),
        Unit((0, 1), "exact", 0.0),
        Unit((0,), "absolute", 1.0),
    ]
    (found,) = tables.held(values, np.array([0, 6]), units)
    np.testing.assert_array_equal(found[:, 0], [0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(found[:, 2], [0, 1, 0, 0, 1, 2])
    layout = StateLayout(2, [Group("both", (0, 1), tolerance=1.0)])
    rule, nothing = Rule(layout, np.ones(2, np.float32)), np.array([[0.0, np.nan]], np.float32)
    assert not rule.holds(nothing, nothing * 0, np.array([[True, True]]))[0]
    assert rule.holds(nothing, np.zeros((1, 2), np.float32), np.array([[True, False]]))[0]


def test_rules_for_units() -> None:
    """Without a tolerance, the paper's rule; in a group that is cut, each coordinate by itself."""
    layout = StateLayout(
        6, [Group("pos", (0, 1), tolerance=3.0), Group("vel", (2, 3)), Group("on", (4,), "exact")]
    )
    rule = Rule(layout, np.array([1, 2, 1, 2, 1, 4], np.float32), epsilon=0.04)
    whole, single = rule.divide(np.array([[1, 1, 1, 0, 1, 1], [0, 1, 1, 1, 0, 0]], bool))
    assert whole.tolist() == [[True, False, True], [False, True, False]]
    assert single.astype(int).tolist() == [[0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 0]]

    def holds(text: str, **changed: float) -> bool:
        goal = np.zeros((1, 6), np.float32)
        state = goal.copy()
        for name, value in changed.items():
            state[0, int(name[1:])] = value
        return bool(rule.holds(state, goal, Query.parse(text, layout).mask[None])[0])

    assert holds("pos", c0=2.9)
    assert not holds("[0]", c0=2.9), "a part of a group has no tolerance"
    assert holds("[0]", c0=0.19)
    assert holds("vel", c2=0.2, c3=0.39)  # (0.2² + 0.195²) / 2 ≤ 0.04
    assert not holds("vel", c2=0.21, c3=0.4)
    assert holds("[5]", c5=0.79)
    assert not holds("[5]", c5=0.81)
    assert holds("[4]", c5=9)
    assert not holds("[4]", c4=1e-3)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_labels_judge_standardised_states(rng: np.random.Generator) -> None:
    """With such means and deviations nothing is rounded on the way."""
    layout = arriving.some_layout(rng)
    rule = arriving.some_rule(rng, layout)
    mean = (arriving.GRID * rng.integers(-9, 9, layout.dim)).astype(np.float32)
    raw = [e.observations for e in arriving.some_trajectories(rng, layout.dim, (80, 80))]
    states, goals = ((r - mean) / rule.std for r in raw)
    masks, rows = arriving.some_masks(rng, layout, 80), np.arange(80)
    labels = ArrivalLabels(rule, mean)
    found = labels.at_goal(Candidates(states, goals, masks, rows, rows))
    np.testing.assert_array_equal(found, rule.holds(*raw, masks))
    assert labels.at_goal(Candidates(goals, goals, masks, rows, rows)).all()


def test_nothing_is_computed_for_nobody() -> None:
    layout = StateLayout(2, [])
    episode = Episode(np.zeros((3, 2), np.float32), np.zeros((2, 1), np.float32))
    arrivals = Arrivals(Rule(layout, np.ones(2, np.float32)), Trajectories.from_episodes([episode]))
    assert arrivals.groups.shape == (3, 0)
    assert arrivals.arrival(np.array([2]), np.array([[True, False]])).tolist() == [0]


def test_a_long_computation_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    rng = np.random.default_rng(0)
    layout = arriving.some_layout(rng)
    data = arriving.some_trajectories(rng, layout.dim, (20,))
    arrivals = Arrivals(arriving.some_rule(rng, layout), data, say=said.append)
    monkeypatch.setattr("goalsets.relabel.arrivals._LONG", 10)
    arrivals.bring(np.ones((1, layout.dim), bool))
    assert "computing for how long the groups of 20 states have held; this is done once." in said
