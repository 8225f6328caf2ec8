"""From the wire to arrays: every mistake is found before a network sees it."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalSet, GoalsetsError, Query
from goalsets.core.inputs import InputReader
from goalsets.data.store import Store
from goalsets.runs.run import Run
from goalsets.serve import questions
from goalsets.serve.models import Model, open_models


@pytest.fixture(scope="module")
def states(store: Store) -> np.ndarray:
    return store.validation.observations[:12].astype(np.float64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda v: v[:-1],
            "observation needs 18 coordinates, as layout 'tabletop-single' has; got 17",
        ),
        (lambda v: [], "needs 18 coordinates, as layout 'tabletop-single' has; got 0"),
        (lambda v: [v, v[:3]], "observation, row 1, needs 18 coordinates"),
        (lambda v: [v, 3.0], "observation, row 1, needs 18 coordinates.* got a single number"),
        (lambda v: [v] * 5, "may have 4 rows at most, got 5"),
        (lambda v: [*v[:-1], float("nan")], r"coordinate 17 \(\w+\) is NaN"),
        (lambda v: [float("-inf"), *v[1:]], r"coordinate 0 \(\w+\) is -Infinity"),
        (lambda v: [v, [1e39, *v[1:]]], r"row 1, must be finite in single.*coordinate 0"),
    ],
)
def test_unusable_states_are_named(change, message, model: Model, states) -> None:
    with pytest.raises(GoalsetsError, match=message):
        questions.read_states("observation", change(states[0].tolist()), model.layout, rows=4)


def test_a_goal_by_names_acts_as_the_whole_goal(model: Model, states) -> None:
    query = model.query("block0_pos")
    whole = questions.read_goal(states[1].tolist(), query, model)
    group = model.layout.group("block0_pos")
    named = questions.read_goal(
        {"block0_pos": states[1][list(group.indices)].tolist()}, query, model
    )
    assert not np.array_equal(whole, named)
    for state in states:
        expected, _ = questions.act(model, state, whole, query, distance=False)
        found, _ = questions.act(model, state, named, query, distance=False)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"block0_pos": [1.0, 2.0]}, "'block0_pos' needs 3 coordinates, got 2"),
        ({"block0_pos": 1.0}, "'block0_pos' needs 3 coordinates, got 1"),
        ({"blok0_pos": [1.0] * 3}, "unknown group 'blok0_pos': did you mean 'block0_pos'"),
        (
            {"eff_pos": [1.0] * 3},
            r"leaves open coordinate \d+ \(block0_pos\), which the query asks",
        ),
        ({}, "leaves open coordinate"),
        ({"block0_pos": [0.0, float("nan"), 0.0]}, r"goal must be finite.*block0_pos.*NaN"),
    ],
)
def test_goals_by_names_are_checked(goal, message, model: Model) -> None:
    with pytest.raises(GoalsetsError, match=message):
        questions.read_goal(goal, model.query("block0_pos"), model)


def test_a_policy_that_sees_the_whole_goal_needs_all_of_it(full: Run, task: Run) -> None:
    shown_all, shown_task = open_models([f"full={full.path}", f"task={task.path}"])
    with pytest.raises(GoalsetsError, match="which a policy trained with her-full sees"):
        questions.read_goal({"eff_pos": [0.0] * 3}, shown_all.query("eff_pos"), shown_all)
    with pytest.raises(GoalsetsError, match=r"block0_pos\), which a policy trained with her-task"):
        questions.read_goal({"eff_pos": [0.0] * 3}, shown_task.query("eff_pos"), shown_task)
    assert "more of the reference" in questions.say_doubts(shown_all, shown_all.query("eff_pos"))[0]
    assert "does not see" in questions.say_doubts(shown_task, shown_task.query("eff_pos"))[0]
    assert questions.say_doubts(shown_task, shown_task.query("task")) == []


def test_checking_is_the_goal_sets_own(model: Model, states) -> None:
    query = Query.parse("all - joint_vel", model.layout)
    goals = GoalSet(states[3], query)
    told = questions.check(states, goals)
    assert told["contains"] == goals.contains(states).tolist()
    assert told["contains"][3] is True
    for term, violation in zip(told["terms"], goals.violations(states), strict=True):
        assert term["name"] == violation.name
        assert term["satisfied"] == violation.satisfied.tolist()
        assert term["distance"] == violation.distance.tolist()
    position = next(t for t in told["terms"] if t["name"] == "block0_pos")
    scale = model.layout.group("block0_pos").scale
    np.testing.assert_allclose(
        np.array(position["distance_in_unit"]) * scale, position["distance"], rtol=1e-12
    )


def test_an_answer_that_is_no_number_is_an_error(model: Model) -> None:
    with pytest.raises(GoalsetsError, match="answer is not finite"):
        questions.act(model, np.full(18, 3e38), np.full(18, -3e38), model.query("all"), False)


def test_as_many_goals_as_states(model: Model, states) -> None:
    with pytest.raises(GoalsetsError, match="there are 12 states and 3 goals"):
        questions.act(model, states, states[:3], model.query("all"), distance=False)


def test_questions_are_remembered_within_bounds(model: Model) -> None:
    for i in range(2000):
        model.query(f"block0_pos:{i}")
    assert model._read_query.cache_info().currsize <= 256
    # Nor does the policy itself remember what strangers asked.
    state = np.zeros(18)
    (reader,) = (part for part in vars(model.policy).values() if isinstance(part, InputReader))
    remembered = len(reader._masks)
    for i in range(20):
        questions.act(model, state, state, model.query(f"eff_pos:{i}"), distance=False)
    assert len(reader._masks) == remembered


def test_names_of_models(robot: Run, tmp_path) -> None:
    models = open_models([str(robot.path), f"other={robot.path}"])
    assert models.names == ["gcdl", "other"]
    with pytest.raises(GoalsetsError, match="two models are called 'gcdl'"):
        open_models([str(robot.path), str(robot.path)])
    with pytest.raises(GoalsetsError, match="cannot be the name of a model"):
        open_models([f"a b={robot.path}"])
    with pytest.raises(GoalsetsError, match="nothing to serve"):
        open_models([])
    with pytest.raises(GoalsetsError, match="is not a run directory"):
        open_models([f"x={tmp_path}"])
    with pytest.raises(GoalsetsError, match="unknown model 'gcd': did you mean 'gcdl'"):
        models.find("gcd")
    with pytest.raises(GoalsetsError, match="say which model: this server has 'gcdl', 'other'"):
        models.find(None)
