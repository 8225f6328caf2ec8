"""Relabeled goals: the mixture, the offsets, the ends of episodes; labels; whole batches."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import Episode, GoalSet, GoalsetsError, Group, Query, StateLayout
from goalsets.data.drawing import DataSource
from goalsets.data.trajectories import Trajectories
from goalsets.relabel.batch import BatchSpec
from goalsets.relabel.goals import ACTOR_GOALS, RANDOM, VALUE_GOALS, GoalMixture
from goalsets.relabel.labels import Candidates, IdentityLabels, PredicateLabels, TermLabels
from goalsets.relabel.queries import Blockwise, Full, Semantic
from goalsets.relabel.sampler import Generators, Sampler

LAYOUT = StateLayout(
    4,
    [Group("pos", (0, 1), tolerance=0.5), Group("yaw", (2, 3), "angle").with_tolerance("20deg")],
    task="pos",
    name="tiny",
)
LENGTHS = (30, 7, 1, 19)

BOTH = BatchSpec({"value": VALUE_GOALS, "actor": ACTOR_GOALS})


def make_trajectories(lengths: tuple[int, ...] = LENGTHS) -> Trajectories:
    rng = np.random.default_rng(0)
    return Trajectories.from_episodes(
        [
            Episode(
                rng.normal(size=(length + 1, 4)).astype(np.float32),
                rng.uniform(-1, 1, (length, 2)).astype(np.float32),
            )
            for length in lengths
        ]
    )


def draw(sampler: GoalMixture, count: int = 60_000) -> tuple[np.ndarray, ...]:
    trajectories, rng = make_trajectories(), np.random.default_rng(1)
    rows, ends = trajectories.draw_transitions(count, rng)
    goals, steps = sampler.within(200).sample(rows, ends, trajectories, rng)
    return rows, ends, goals, steps


def test_mixture_shares() -> None:
    _, _, _, steps = draw(VALUE_GOALS)
    assert (steps == 0).mean() == pytest.approx(0.2, abs=0.01)
    assert (steps > 0).mean() == pytest.approx(0.5, abs=0.01)
    assert (steps == RANDOM).mean() == pytest.approx(0.3, abs=0.01)
    _, _, _, steps = draw(GoalMixture(p_current=2, p_future=6, p_random=0))
    assert (steps == 0).mean() == pytest.approx(0.25, abs=0.01)


def test_future_goals_stay_in_their_episode() -> None:
    rows, ends, goals, steps = draw(ACTOR_GOALS)
    assert (goals > rows).all()
    assert (goals <= ends).all()
    assert (steps == goals - rows).all()


def test_offsets_follow_the_declared_law() -> None:
    """⌊u^α H⌋ + 1: P(offset ≤ k) = (k / H)^(1/α)."""
    long = make_trajectories((5_000,))
    rng = np.random.default_rng(0)
    rows = np.zeros(60_000, dtype=np.int64)
    sampler = GoalMixture(p_current=0, p_future=1, p_random=0, horizon=100, exponent=2.0)
    _, steps = sampler.sample(rows, rows + 5_000, long, rng)
    assert steps.min() == 1
    assert steps.max() == 100
    for k in (1, 4, 25, 81):
        assert (steps <= k).mean() == pytest.approx((k / 100) ** 0.5, abs=0.01)


def test_random_goals_are_uniform_over_states() -> None:
    _, _, goals, _ = draw(GoalMixture(p_current=0, p_future=0, p_random=1))
    counts = np.bincount(goals, minlength=61)
    np.testing.assert_allclose(counts, 60_000 / 61, rtol=0.2)


@pytest.mark.parametrize(
    "bad",
    [{"p_current": -1}, {"p_current": 0, "p_future": 0, "p_random": 0}, {"horizon": 0}],
)
def test_bad_numbers(bad: dict) -> None:
    with pytest.raises(GoalsetsError, match="goal probabilities must|future goals need"):
        GoalMixture(**bad)


# --- Labels -------------------------------------------------------------------------------------


def candidates(states: list[list[float]], goals: list[list[float]], text: str) -> Candidates:
    mask = Query.parse(text, LAYOUT).mask
    count = len(states)
    return Candidates(
        np.array(states, np.float32),
        np.array(goals, np.float32),
        np.tile(mask, (count, 1)),
        np.arange(count),
        np.array([0] * count),
    )


def test_predicate_labels_by_hand() -> None:
    found = PredicateLabels(epsilon=0.02).at_goal(
        candidates([[0.1, 0.1, 9, 9], [0.2, 0.1, 0, 0], [0, 0, 0, 0]], [[0, 0, 0, 0]] * 3, "pos")
    )
    # d_q: (0.01 + 0.01) / 2 = 0.01, (0.04 + 0.01) / 2 = 0.025, 0
    assert found.tolist() == [True, False, True]


def test_term_labels_judge_as_a_goal_set_does() -> None:
    rng = np.random.default_rng(0)
    mean = rng.normal(size=4).astype(np.float32)
    std = rng.uniform(0.5, 2, 4).astype(np.float32)
    raw, goals = rng.normal(scale=0.5, size=(2, 300, 4)).astype(np.float32)
    masks = Semantic().sample(LAYOUT, 300, rng)
    rows = np.arange(300)
    found = TermLabels(LAYOUT, mean, std).at_goal(
        Candidates((raw - mean) / std, (goals - mean) / std, masks, rows, rows)
    )
    expected = [
        bool(GoalSet(goals[i], Query(LAYOUT, masks[i])).contains(raw[i])) for i in range(300)
    ]
    assert found.tolist() == expected
    assert 0 < np.mean(expected) < 1


def test_identity_labels_look_at_rows_only() -> None:
    found = IdentityLabels().at_goal(candidates([[0, 0, 0, 0]] * 2, [[0, 0, 0, 0]] * 2, "pos"))
    assert found.tolist() == [True, False]


# --- Batches ------------------------------------------------------------------------------------


def test_batch_is_what_the_data_says() -> None:
    trajectories = make_trajectories()
    sampler = Sampler(trajectories, LAYOUT, Blockwise(), BOTH, labels=IdentityLabels())
    batch = sampler.sample(500, Generators.from_seed(0))
    states = {row.tobytes(): i for i, row in enumerate(trajectories.observations)}
    rows = np.array([states[s.tobytes()] for s in batch.states])
    np.testing.assert_array_equal(trajectories.observations[rows + 1], batch.next_states)
    np.testing.assert_array_equal(trajectories.actions[rows], batch.actions)
    for goals in batch.goals.values():
        goal_rows = np.array([states[g.tobytes()] for g in goals.references])
        ahead = goals.steps >= 0
        np.testing.assert_array_equal(goal_rows[ahead], rows[ahead] + goals.steps[ahead])
        assert goals.masks.shape == (500, 4)
        assert goals.masks.any(axis=1).all()
    value_rows = np.array([states[g.tobytes()] for g in batch.goals["value"].references])
    np.testing.assert_array_equal(batch.goals["value"].at_goal, rows == value_rows)
    np.testing.assert_array_equal(batch.goals["value"].next_at_goal, rows + 1 == value_rows)


def test_the_same_goals_serve_every_scheme() -> None:
    trajectories = make_trajectories()
    batches = [
        Sampler(trajectories, LAYOUT, queries, BOTH).sample(64, Generators.from_seed(3))
        for queries in (Full(), Blockwise(), Semantic())
    ]
    for other in batches[1:]:
        np.testing.assert_array_equal(batches[0].states, other.states)
        np.testing.assert_array_equal(
            batches[0].goals["value"].references, other.goals["value"].references
        )
        np.testing.assert_array_equal(
            batches[0].goals["actor"].references, other.goals["actor"].references
        )


def test_predicate_labels_find_what_identity_misses() -> None:
    """A state that matches where the query looks is at its goal, whatever its index."""
    still = np.zeros((50, 4), dtype=np.float32)
    still[:, 2:] = np.random.default_rng(0).normal(size=(50, 2))
    trajectories = Trajectories.from_episodes([Episode(still, np.zeros((49, 2), np.float32))])
    for labels, share in ((PredicateLabels(), 1.0), (IdentityLabels(), 0.22)):
        sampler = Sampler(trajectories, LAYOUT, FixedQuery("pos"), BOTH, labels=labels)
        batch = sampler.sample(4_000, Generators.from_seed(0))
        assert batch.goals["value"].at_goal.mean() == pytest.approx(share, abs=0.03)


class FixedQuery:
    """Always the same question."""

    def __init__(self, text: str) -> None:
        self.mask = Query.parse(text, LAYOUT).mask

    def sample(self, layout: StateLayout, batch_size: int, rng: object) -> np.ndarray:
        return np.tile(self.mask, (batch_size, 1))

    def marginals(self, layout: StateLayout) -> np.ndarray:
        return self.mask.astype(float)


def test_windowed_batches_advance() -> None:
    trajectories = make_trajectories((30,) * 40)
    source, other = (DataSource(trajectories, window_bytes=31 * 16 * 5) for _ in range(2))
    sampler = Sampler(source, LAYOUT, Blockwise(), BOTH)
    rng = Generators.from_seed(0)
    for _ in range(10):
        assert sampler.sample(32, rng).states.shape == (32, 4)
    other.seek(320)
    rows, expected = (s.draw_states(1_000, np.random.default_rng(0)) for s in (source, other))
    np.testing.assert_array_equal(rows, expected)


# --- What a learner asks for --------------------------------------------------------------------


def test_a_batch_has_what_was_asked_for_and_nothing_else() -> None:
    """Episode ends cut later states and actions short; what was not taken is marked."""
    trajectories = make_trajectories((6, 9))
    spec = BatchSpec({"mine": GoalMixture(0, 1, 0, horizon=2)}, later=(1, 4), actions=3)
    batch = Sampler(trajectories, LAYOUT, Full(), spec).sample(400, Generators.from_seed(0))
    rows = {row.tobytes(): i for i, row in enumerate(trajectories.observations)}
    at = np.array([rows[s.tobytes()] for s in batch.states])
    ends = np.where(at < 7, 6, 16)
    assert set(batch.goals) == {"mine"}
    assert batch.goals["mine"].steps.max() == 2
    np.testing.assert_array_equal(batch.later[1], batch.next_states)
    np.testing.assert_array_equal(
        batch.later[4], trajectories.observations[np.minimum(at + 4, ends)]
    )
    assert batch.actions.shape == (400, 3, 2)
    assert batch.taken is not None
    np.testing.assert_array_equal(batch.taken, at[:, None] + np.arange(3) < ends[:, None])
    for row, column in np.argwhere(batch.taken):
        np.testing.assert_array_equal(
            batch.actions[row, column], trajectories.actions[at[row] + column]
        )
    assert not batch.taken.all()
    with pytest.raises(GoalsetsError, match="labels=True"):
        _ = batch.goals["mine"].at_goal


def test_a_batch_is_taken_apart_and_put_together_again() -> None:
    spec = BatchSpec({"value": VALUE_GOALS, "actor": ACTOR_GOALS}, later=(3,), actions=2)
    sampler = Sampler(make_trajectories(), LAYOUT, Full(), spec)
    batch = sampler.sample(8, Generators.from_seed(0))
    doubled = batch.map(lambda array: array * 2)
    assert len(batch.arrays()) == len(doubled.arrays()) == 13
    np.testing.assert_array_equal(doubled.later[3], 2 * batch.later[3])
    np.testing.assert_array_equal(doubled.goals["actor"].steps, 2 * batch.goals["actor"].steps)
    np.testing.assert_array_equal(doubled.taken, 2 * batch.taken)


@pytest.mark.parametrize("bad", [{"goals": {}}, {"actions": 0}, {"later": (0,)}])
def test_a_batch_that_cannot_be(bad: dict[str, object]) -> None:
    with pytest.raises(GoalsetsError, match="a batch needs"):
        BatchSpec(**bad)
