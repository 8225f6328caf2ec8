"""Each measurement on data whose answer is known by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalsets import Group, Query, StateLayout
from goalsets.check.behaviour import look_at_behaviour
from goalsets.check.distance import look_at_distances
from goalsets.check.imitation import still_actions, what_still_is
from goalsets.check.locks import blocked
from goalsets.check.near import nearest
from goalsets.check.questions import Question, make_question
from goalsets.check.relabeled import Asked, Relabeler
from goalsets.check.support import Reach, Supporter
from goalsets.core import Episode
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.tolerances import UsualTolerances
from goalsets.data.trajectories import Trajectories
from goalsets.relabel.units import Rule

LAYOUT = StateLayout(
    2,
    (Group("place", (0,), tolerance=0.5), Group("lock0", (1,), "exact", kind="lock*")),
    name="line",
)
STD = np.ones(2, np.float32)
USUAL = UsualTolerances(STD[None])


def walk(*places: float, lock: float = 0.0) -> Episode:
    states = np.array([[place, lock] for place in places], np.float32)
    return Episode(states, np.diff(states[:, :1], axis=0))


def question(text: str = "place", **fields: Any) -> Question:
    return make_question(Query.parse(text, LAYOUT), USUAL, **fields)


class Stub:
    """A policy whose actions and distances are given by functions of states and goals."""

    layout, answers = LAYOUT, "anything"

    def __init__(self, act: Any = None, distance: Any = None, unit: str | None = "steps") -> None:
        self._act, self._distance, self.distance_unit = act, distance, unit

    def act(self, states: Any, goals: Any, query: Any, **_: Any) -> Any:
        return self._act(np.asarray(states), np.asarray(goals))

    def distance(self, states: Any, goals: Any, query: Any) -> Any:
        return self._distance(np.atleast_2d(states), np.atleast_2d(goals))


# --- Relabeling -----------------------------------------------------------------------------


def test_steps_count_to_the_arrival_and_not_to_the_reference() -> None:
    # It arrives at 5 in row 5, and stays: whatever later row is the reference, row 5 counts.
    data = Trajectories.from_episodes([walk(*range(6), *[5.0] * 60)])
    asked = Relabeler(data).draw(question(), 100, np.random.default_rng(0))
    late = asked.where(asked.goals > 5)
    assert len(late) > 0
    assert (late.rows + late.steps == 5).all()
    assert (asked.steps >= 1).all()
    assert (asked.rows + asked.steps <= asked.goals).all()


def test_a_question_that_was_answered_already_is_not_asked() -> None:
    # It is at 0, leaves and comes back: at the first rows, "be at 0" was answered.
    data = Trajectories.from_episodes([walk(0, 0, 0, 3, 3, 3, 0, 0, 0)])
    asked = Relabeler(data).draw(question(), 100, np.random.default_rng(0))
    states, goals = data.observations[asked.rows, 0], data.observations[asked.goals, 0]
    assert len(asked) > 0
    assert (np.abs(states - goals) > 0.5).all()


def test_a_condition_on_references_holds() -> None:
    from goalsets.evaluate.conditions import Condition

    data = Trajectories.from_episodes([walk(*range(30))])
    where = Condition.parse("place >= 20", LAYOUT)
    asked = Relabeler(data).draw(question(where=where), 50, np.random.default_rng(0))
    assert len(asked) > 0
    assert (data.observations[asked.goals, 0] >= 20).all()


def test_a_missing_tolerance_is_taken_from_the_data_and_said() -> None:
    loose = StateLayout(1, (Group("place", (0,)),), name="loose")
    usual = UsualTolerances(np.linspace(0, 100, 1001)[:, None])
    made = make_question(Query.parse("place", loose), usual)
    assert made.query.terms[0].tolerance == 4.9
    said = (
        "No tolerance is known for place: 4.9 was taken, 5% of the range of 98% of its values, 98."
    )
    assert made.note == said


# --- Support --------------------------------------------------------------------------------


def supporter(*walks: Episode, every: int = 1) -> Supporter:
    return Supporter(Trajectories.from_episodes(list(walks)), every, Rule(LAYOUT, STD), 100)


def test_support_counts_states_episodes_starts_and_visits() -> None:
    seen = supporter(
        walk(0, 1, 2, 3, 4, 5, 5, 5),  # arrives directly, in 5 steps, and stays
        walk(0, 1, 2, 3, 4, 5, 5, 9),  # as above, from the same start
        walk(9, 8, 9, 8, 7, 6, 5, 2),  # turns back on the way
        walk(5, 5, 6, 7),  # starts there: it shows no way
        walk(0, 1, 2),
    ).look(question(), np.array([[5.0, 0.0]], np.float32), None)
    assert (seen.answered, seen.states, seen.episodes, seen.visits) == (1.0, 8, 4, 3)
    assert seen.starts == 2
    assert seen.all_episodes == 5
    assert seen.direct == pytest.approx(1.0)
    assert seen.steps is not None
    assert seen.steps[1] == 5
    assert seen.nearest == ()


def test_a_detour_is_not_direct() -> None:
    seen = supporter(walk(9, 9, 7, 8.2, 7, 5, 5)).look(
        question(), np.array([[5.0, 0.0]], np.float32), None
    )
    assert (seen.visits, seen.direct, seen.steps) == (1, 0.0, None)


def test_leaving_by_less_than_a_tolerance_is_no_new_visit() -> None:
    seen = supporter(walk(0, 2, 5, 5.6, 5, 5.6, 5)).look(
        question(), np.array([[5.0, 0.0]], np.float32), None
    )
    assert seen.visits <= 2  # of three entries; the first is far, the others are not
    assert seen.states == 3


def test_nearest_answers_name_episodes_of_the_store() -> None:
    seen = supporter(walk(0, 1), walk(0, 4), every=3).look(
        question(), np.array([[6.0, 0.0]], np.float32), None
    )
    assert (seen.answered, seen.unanswered) == (0.0, 0)
    assert [(near.episode, near.step) for near in seen.nearest] == [(3, 1), (0, 1)]
    assert seen.nearest[0].tolerances == pytest.approx(4.0)
    assert seen.nearest[0].terms == {"place": "2"}


def test_parts_may_be_answered_where_the_whole_is_not() -> None:
    both = question("place & lock0")
    goal = np.array([[5.0, 1.0]], np.float32)
    seen = supporter(walk(0, 5, 5), walk(0, 1, lock=1.0)).look(both, goal, None)
    assert (seen.answered, seen.parts) == (0.0, 1.0)
    none = supporter(walk(0, 5, 5)).look(both, goal, None)
    assert (none.answered, none.parts) == (0.0, 0.0)


def test_reach_leaves_out_what_is_far_and_what_is_blocked() -> None:
    usual = np.linspace(0, 1, 11, dtype=np.float32)
    asked = np.array([0.5, 0.5, 2.0, 3.0], np.float32)
    found = Reach.of(usual, asked, np.array([True, False, False, False]), ("lock0",))
    assert found == Reach(0.25, 0.25, ("lock0",))
    assert Reach.of(usual, asked[:0], np.zeros(0, np.bool_), ()) is None


def test_a_switch_that_is_never_so_before_an_arrival_blocks() -> None:
    before = np.array([[0.0, 1.0]] * 50, np.float32)
    starts = np.array([[0.0, 0.0]] * 30 + [[0.0, 1.0]] * 30, np.float32)
    locked, by = blocked(question(), before, starts)
    assert by == ("lock0",)
    assert locked.tolist() == [True] * 30 + [False] * 30
    mixed = np.array([[0.0, 0.0]] * 20 + [[0.0, 1.0]] * 30, np.float32)
    assert blocked(question(), mixed, starts)[1] == ()
    assert blocked(question("lock0"), before, starts)[1] == ()


def test_nearest_neighbours_are_those_of_a_plain_search() -> None:
    rng = np.random.default_rng(0)
    known, asked = (rng.normal(size=(n, 5)).astype(np.float32) for n in (300, 130))
    apart = np.linalg.norm(asked[:, None] - known[None], axis=-1)
    places, distances = nearest(known, asked, 7)
    assert (places == np.argsort(apart, axis=1)[:, :7]).all()
    np.testing.assert_allclose(distances, apart.min(1), atol=1e-3)
    assert nearest(known[:3], asked, 7)[0].shape == (130, 3)


# --- Acting, distances, behaviour -----------------------------------------------------------


def test_what_still_is_depends_on_what_actions_are() -> None:
    rng = np.random.default_rng(0)
    speeds = np.repeat(rng.normal(size=40), 10) * np.tile(np.linspace(1, 0, 10), 40)
    places = 10 + np.cumsum(rng.normal(scale=0.1, size=400))
    # Speeds change slowly, too: the last one again is near the data, and moves the robot on.
    driven = np.concatenate([[0.0], np.cumsum(speeds)])
    followed = np.concatenate([[10.0], places])
    for actions, states, still in ((speeds, driven, "zero"), (places, followed, "repeat")):
        episode = Episode(states[:, None].astype(np.float32), actions[:, None].astype(np.float32))
        data = Trajectories.from_episodes([episode])
        assert what_still_is(data, Normaliser.fit(data), rng) == still


def test_at_the_first_step_nothing_was_commanded_before() -> None:
    data = Trajectories.from_episodes([walk(0, 1, 3, 6)])
    rows = np.array([0, 1, 2])
    assert still_actions(data, rows, "repeat")[:, 0].tolist() == [0, 1, 2]
    assert still_actions(data, rows, "zero")[:, 0].tolist() == [0, 0, 0]


def line() -> tuple[Trajectories, Asked]:
    data = Trajectories.from_episodes([walk(*range(60))])
    steps = np.arange(1, 50)
    return data, Asked(np.full(49, 5), 5 + steps, steps)


@pytest.mark.parametrize(
    ("predict", "rank", "error", "falls"),
    [
        (lambda apart: apart, 1.0, 0.0, 1.0),
        (lambda apart: apart + 10, 1.0, 10.0, 1.0),
        (lambda apart: -apart, -1.0, 50.0, 0.0),
        (lambda apart: 0 * apart, None, 25.0, 0.0),
    ],
)
def test_distances_are_compared_with_steps(
    predict: Any, rank: float | None, error: float, falls: float
) -> None:
    data, asked = line()
    policy: Any = Stub(distance=lambda s, g: predict(np.abs(g - s)[:, 0]))
    found = look_at_distances(policy, question(), data, asked)
    assert found is not None
    assert found.error == pytest.approx(error)
    assert found.falls == falls
    if rank is None:
        assert np.isnan(found.rank_correlation)
    else:
        assert found.rank_correlation == pytest.approx(rank)


def test_a_distance_in_other_units_has_no_error_in_steps() -> None:
    data, asked = line()
    policy: Any = Stub(distance=lambda s, g: np.abs(g - s)[:, 0], unit="nats")
    found = look_at_distances(policy, question(), data, asked)
    assert found is not None
    assert (found.error, found.bias) == (None, None)
    silent: Any = Stub(unit=None)
    assert look_at_distances(silent, question(), data, asked) is None


def test_saturation_noise_and_time() -> None:
    data, asked = line()
    ones = np.ones(1, np.float32)
    bounds, normaliser = Bounds(-2 * ones, 2 * ones), Normaliser(STD, STD, 0 * ones, ones)

    def look(act: Any, rate: float | None = None) -> Any:
        policy: Any = Stub(act=act)
        rng = np.random.default_rng(0)
        return look_at_behaviour(
            policy, question(), data, asked, normaliser, bounds, rng, rate=rate
        )

    at_bound = look(lambda s, g: np.full((*s.shape[:-1], 1), 2.0, np.float32), rate=50.0)
    assert (at_bound.saturation, at_bound.data_saturation) == ((1.0,), (0.0,))
    assert (at_bound.unsteadiness, at_bound.period) == (0.0, 20.0)
    nervous = look(lambda s, g: 100 * s[..., :1])
    assert nervous.unsteadiness == pytest.approx(0.8, rel=0.3)  # the mean of |N(0, 1)|
    assert nervous.period is None
