"""Samplers with arrivals: steps to the arrival, goals that are direct, and facts about them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from goalsets import Episode, GoalsetsError, Group, Query, StateLayout
from goalsets.data.trajectories import Trajectories
from goalsets.relabel import direct
from goalsets.relabel.arrivals import ArrivalLabels, Arrivals
from goalsets.relabel.batch import Batch, BatchSpec
from goalsets.relabel.direct import ANSWERED, FAR, UNDIRECTED
from goalsets.relabel.goals import ACTOR_GOALS, RANDOM, VALUE_GOALS, GoalMixture
from goalsets.relabel.queries import Blockwise, Full, QueryDistribution, Semantic, Task
from goalsets.relabel.sampler import Generators, Sampler
from goalsets.relabel.units import Rule
from tests.relabel import arriving

LAYOUT = StateLayout(
    4, [Group("x", (0,), "absolute", tolerance=0.1), Group("y", (1, 2), tolerance=0.1)], name="two"
)
"""The last coordinate belongs to no group, and tells the rows apart."""
WINDOW = 5
BOTH = BatchSpec({"value": VALUE_GOALS, "actor": ACTOR_GOALS})
DIRECT = dataclasses.replace(ACTOR_GOALS, window=WINDOW, exponent=1.0)


def make_data(lengths: tuple[int, ...] = (40, 25, 1, 60)) -> Trajectories:
    """Things rest and move by turns, each at times of its own."""
    rng = np.random.default_rng(0)
    episodes: list[Episode] = []
    for length in lengths:
        moves = rng.random((length + 1, 2)) < 0.15
        places = np.cumsum(moves, axis=0)[:, [0, 1, 1]]
        clock = 1_000 * len(episodes) + np.arange(length + 1)
        states = np.column_stack([places, clock]).astype(np.float32)
        episodes.append(Episode(states, rng.uniform(-1, 1, (length, 2)).astype(np.float32)))
    return Trajectories.from_episodes(episodes)


def make_sampler(
    spec: BatchSpec, queries: QueryDistribution | None = None, **more: object
) -> Sampler:
    data = make_data()
    arrivals = Arrivals(Rule(LAYOUT, np.ones(4, np.float32)), data)
    fields = {"horizon": 30, "arrivals": arrivals, **more}
    return Sampler(data, LAYOUT, queries or Semantic(), spec, **fields)


def rows_of(states: np.ndarray, data: Trajectories) -> np.ndarray:
    known = {float(clock): row for row, clock in enumerate(data.observations[:, 3])}
    return np.array([known[float(clock)] for clock in states[:, 3]])


def arrivals_of(sampler: Sampler, batch: Batch, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the transitions are, and where the data arrived at their goals, by definition."""
    assert sampler.arrivals is not None
    data, goals = sampler.arrivals.data, batch.goals[name]
    found = [
        arriving.arrival(sampler.arrivals.rule, data, int(row), mask)
        for row, mask in zip(rows_of(goals.references, data), goals.masks, strict=True)
    ]
    return rows_of(batch.states, data), np.array(found)


def test_without_arrivals_batches_are_as_they_were() -> None:
    """The same numbers are drawn, in the same order, for the same use."""
    data, rng, again = make_data(), Generators.from_seed(7), Generators.from_seed(7)
    batch = Sampler(data, LAYOUT, Blockwise(), BOTH, 30).sample(64, rng)
    rows, ends = data.draw_transitions(64, again.goals)
    drawn = [m.within(30).sample(rows, ends, data, again.goals) for m in BOTH.goals.values()]
    masks = Blockwise().sample(LAYOUT, 128, again.queries)
    np.testing.assert_array_equal(batch.states, data.observations[rows])
    for goals, (goal_rows, steps), own in zip(
        batch.goals.values(), drawn, np.split(masks, 2), strict=True
    ):
        np.testing.assert_array_equal(goals.references, data.observations[goal_rows])
        np.testing.assert_array_equal(goals.steps, steps)
        np.testing.assert_array_equal(goals.masks, own)
    assert batch.facts == {}
    for ours, theirs in ((rng.goals, again.goals), (rng.queries, again.queries)):
        assert ours.bit_generator.state == theirs.bit_generator.state


def test_steps_are_those_to_the_arrival() -> None:
    sampler = make_sampler(BOTH)
    batch = sampler.sample(300, Generators.from_seed(1))
    plain = dataclasses.replace(sampler, arrivals=None).sample(300, Generators.from_seed(1))
    kept = dataclasses.replace(sampler, steps_to_arrival=False).sample(300, Generators.from_seed(1))
    for name, goals in batch.goals.items():
        rows, arrived = arrivals_of(sampler, batch, name)
        elsewhere = plain.goals[name].steps == RANDOM
        expected = np.where(elsewhere, RANDOM, np.maximum(arrived - rows, 0))
        np.testing.assert_array_equal(goals.steps, expected)
        np.testing.assert_array_equal(goals.references, plain.goals[name].references)
        np.testing.assert_array_equal(goals.masks, plain.goals[name].masks)
        np.testing.assert_array_equal(kept.goals[name].steps, plain.goals[name].steps)
        assert (goals.steps < plain.goals[name].steps).mean() > 0.2


def test_who_has_arrived_is_at_the_goal() -> None:
    sampler = make_sampler(BOTH)
    labels = ArrivalLabels(Rule(LAYOUT, np.ones(4, np.float32)), np.zeros(4, np.float32))
    batch = dataclasses.replace(sampler, labels=labels).sample(500, Generators.from_seed(1))
    goals, ahead = batch.goals["value"], batch.goals["value"].steps >= 0
    assert goals.at_goal[ahead & (goals.steps == 0)].all()
    assert goals.next_at_goal[goals.steps == 1].all()
    # One step before the arrival it does not hold; before that, it may have.
    assert not goals.at_goal[goals.steps == 1].any()
    assert 0 < goals.at_goal[~ahead].mean() < 1


@pytest.mark.parametrize("queries", [Semantic(), Blockwise()])
def test_direct_goals_are_open_and_soon_answered(queries: QueryDistribution) -> None:
    spec = BatchSpec({"value": VALUE_GOALS, "actor": DIRECT})
    sampler = make_sampler(spec, queries)
    batch = sampler.sample(400, Generators.from_seed(2))
    rows, arrived = arrivals_of(sampler, batch, "actor")
    direct = (rows < arrived) & (arrived <= rows + WINDOW)
    assert batch.facts[UNDIRECTED] == pytest.approx((~direct).mean())
    assert direct.mean() > 0.5
    np.testing.assert_array_equal(batch.goals["actor"].steps[direct], (arrived - rows)[direct])
    # The transitions, and the goals of others, are the ones that are drawn without a window.
    plain = dataclasses.replace(sampler, spec=BOTH).sample(400, Generators.from_seed(2))
    np.testing.assert_array_equal(batch.states, plain.states)
    value, other = batch.goals["value"], plain.goals["value"]
    np.testing.assert_array_equal(value.references, other.references)
    np.testing.assert_array_equal(value.masks, other.masks)
    # Where nothing would do, it is what was drawn first.
    first = dataclasses.replace(ACTOR_GOALS, exponent=1.0)
    spec = BatchSpec({"value": VALUE_GOALS, "actor": first})
    plain = dataclasses.replace(sampler, spec=spec).sample(400, Generators.from_seed(2))
    for field in ("references", "masks"):
        ours, theirs = (getattr(b.goals["actor"], field)[~direct] for b in (batch, plain))
        np.testing.assert_array_equal(ours, theirs)


def test_facts_are_those_of_the_first_draw() -> None:
    spec = BatchSpec({"actor": DIRECT})
    sampler = make_sampler(spec)
    facts = sampler.sample(400, Generators.from_seed(4)).facts
    first = BatchSpec({"actor": dataclasses.replace(DIRECT, window=None)})
    plain = dataclasses.replace(sampler, spec=first)
    rows, arrived = arrivals_of(sampler, plain.sample(400, Generators.from_seed(4)), "actor")
    assert facts[ANSWERED] == pytest.approx((arrived <= rows).mean())
    assert facts[FAR] == pytest.approx((arrived > rows + WINDOW).mean())
    assert min(facts.values()) > 0


def test_facts_by_hand() -> None:
    """One thing moves once, from row 4 to row 5 of 10: before, it will; after, it has."""
    layout = StateLayout(1, [Group("x", (0,), "absolute", tolerance=0.1)])
    states = np.repeat([0.0, 1.0], 5)[:, None].astype(np.float32)
    data = Trajectories.from_episodes([Episode(states, np.zeros((9, 1), np.float32))])
    arrivals = Arrivals(Rule(layout, np.ones(1, np.float32)), data)
    to_the_end = GoalMixture(0, 1, 0, horizon=1_000_000, window=3)  # is nearly always clipped
    sampler = Sampler(data, layout, Full(), BatchSpec({"actor": to_the_end}), arrivals=arrivals)
    batch = sampler.sample(9_000, Generators.from_seed(0))
    # Of rows 0 to 8, the arrival at row 5 is too far from 0 and 1, and over from 5 on.
    assert batch.facts[FAR] == pytest.approx(2 / 9, abs=0.02)
    assert batch.facts[ANSWERED] == pytest.approx(4 / 9, abs=0.02)
    assert batch.facts[UNDIRECTED] == pytest.approx(6 / 9, abs=0.02)
    assert set(batch.goals["actor"].steps.tolist()) == {0, 1, 2, 3, 4, 5}
    assert batch.map(lambda array: array).facts == batch.facts
    assert len(batch.arrays()) == 6


def test_the_last_resort_is_one_group_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "ROUNDS", 0)
    sampler = make_sampler(BatchSpec({"actor": DIRECT}))
    batch = sampler.sample(400, Generators.from_seed(3))
    rows, arrived = arrivals_of(sampler, batch, "actor")
    is_direct = (rows < arrived) & (arrived <= rows + WINDOW)
    facts = batch.facts
    assert facts[UNDIRECTED] == pytest.approx((~is_direct).mean())
    replaced = facts[ANSWERED] + facts[FAR] - facts[UNDIRECTED]
    assert replaced > 0.2
    first = BatchSpec({"actor": dataclasses.replace(DIRECT, window=None)})
    plain = dataclasses.replace(sampler, spec=first).sample(400, Generators.from_seed(3))
    changed = (batch.goals["actor"].references != plain.goals["actor"].references).any(1)
    assert is_direct[changed].all()
    masks = batch.goals["actor"].masks[changed]
    known = {tuple(Query.parse(name, LAYOUT).mask) for name in ("x", "y")}
    assert {tuple(mask) for mask in masks} == known


def test_who_always_asks_the_same_goes_on_doing_so() -> None:
    batch = make_sampler(BatchSpec({"actor": DIRECT}), Full()).sample(200, Generators.from_seed(3))
    assert batch.goals["actor"].masks.all()


def test_goals_of_other_trajectories_are_not_direct() -> None:
    """An arrival on the next episode, a few rows on, is no arrival."""
    mixture = GoalMixture(0.2, 0.2, 0.6, window=WINDOW)
    sampler = make_sampler(BatchSpec({"actor": mixture}))
    batch = sampler.sample(400, Generators.from_seed(5))
    rows, arrived = arrivals_of(sampler, batch, "actor")
    ends = sampler.arrivals.data.offsets[1:] - 1
    last = ends[np.searchsorted(ends, rows)]
    is_direct = (rows < arrived) & (arrived <= np.minimum(rows + WINDOW, last))
    is_direct &= batch.goals["actor"].steps >= 0
    assert batch.facts[UNDIRECTED] == pytest.approx((~is_direct).mean())
    assert batch.facts[ANSWERED] + batch.facts[FAR] > 0.8
    assert batch.facts[UNDIRECTED] < 0.6


def test_a_window_needs_arrivals() -> None:
    with pytest.raises(GoalsetsError, match="goals 'actor' have a window, which needs arrivals"):
        Sampler(make_data(), LAYOUT, Full(), BatchSpec({"actor": DIRECT}))
    with pytest.raises(GoalsetsError, match="a window of 1 step or more, got 0"):
        GoalMixture(window=0)


def test_who_lingers_is_still_asked_for_a_while() -> None:
    def just_answered(linger: int) -> float:
        mixture = dataclasses.replace(DIRECT, linger=linger)
        sampler = make_sampler(BatchSpec({"actor": mixture}))
        batch = sampler.sample(400, Generators.from_seed(3))
        rows, arrived = arrivals_of(sampler, batch, "actor")
        late = arrived - rows
        direct = (late > -linger) & (late <= WINDOW)
        assert batch.facts[UNDIRECTED] == pytest.approx((~direct).mean())
        return float(((late > -3) & (late <= 0)).mean())

    assert just_answered(3) > just_answered(0) + 0.1
    with pytest.raises(GoalsetsError, match="linger must be 0 steps or more, got -1"):
        dataclasses.replace(DIRECT, linger=-1)


def test_what_an_object_only_passed_by_is_no_goal() -> None:
    x, y = LAYOUT.groups
    layout = StateLayout(4, [dataclasses.replace(x, name="x0", kind="x*"), y], name="object")
    settled = dataclasses.replace(DIRECT, settled=3, window=20)
    data = make_data()
    arrivals = Arrivals(Rule(layout, np.ones(4, np.float32)), data)
    spec = BatchSpec({"actor": settled})
    sampler = Sampler(data, layout, Semantic(), spec, horizon=30, arrivals=arrivals)
    batch = sampler.sample(400, Generators.from_seed(4))
    rows, arrived = arrivals_of(sampler, batch, "actor")
    goals = batch.goals["actor"]
    held = rows_of(goals.references, data) - arrived
    direct = (rows < arrived) & (arrived <= rows + 20)
    about = goals.masks[:, 0]
    assert (held[direct & about] >= 3).mean() > 0.95  # the rest is what was drawn first
    assert (held[direct & ~about] < 3).any()  # the robot itself never rests
    assert batch.facts[UNDIRECTED] >= (~direct).mean()


def with_a_hand() -> tuple[StateLayout, Arrivals, Trajectories]:
    """A thing that is seen from a hand, which never rests, and a gripper that moves by turns."""
    thing = dataclasses.replace(LAYOUT.groups[0], name="x0", kind="x*", relative_to="hand")
    gripper = Group("gripper", (1,), "absolute", tolerance=0.1)
    hand = Group("hand", (3,), "absolute", tolerance=0.1)
    layout = StateLayout(4, [thing, gripper, hand], name="object", task="hand & gripper")
    data = make_data()
    return layout, Arrivals(Rule(layout, np.ones(4, np.float32)), data), data


def test_questions_about_the_place_of_a_hand_have_a_window_of_their_own() -> None:
    layout, arrivals, data = with_a_hand()

    def asked(robot_window: int | None) -> tuple[np.ndarray, np.ndarray]:
        """How late the answers come, and which questions ask for the hand's place alone."""
        mixture = dataclasses.replace(DIRECT, window=20, robot_window=robot_window, horizon=20)
        spec = BatchSpec({"actor": mixture})
        sampler = Sampler(data, layout, Semantic(), spec, horizon=30, arrivals=arrivals)
        batch = sampler.sample(2_000, Generators.from_seed(4))
        rows, arrived = arrivals_of(sampler, batch, "actor")
        masks = batch.goals["actor"].masks
        late, place = arrived - rows, masks[:, 3] & ~masks[:, :3].any(1)
        open_still = late > 0
        return late[open_still], place[open_still]

    late, place = asked(4)
    assert late[place].max() <= 4 < late[~place].max() <= 20
    same, same_place = asked(None)
    assert same[same_place].max() > 4
    # Such questions are nearer, not much rarer.
    assert place.mean() > 0.8 * same_place.mean()
    with pytest.raises(GoalsetsError, match=r"at most the window of all questions \(5\), got 6"):
        dataclasses.replace(DIRECT, robot_window=6)


def test_a_gripper_that_must_still_move_has_the_window_of_a_motion() -> None:
    layout, arrivals, data = with_a_hand()
    mixture = dataclasses.replace(DIRECT, window=20, robot_window=4, horizon=20)
    spec = BatchSpec({"actor": mixture})
    sampler = Sampler(data, layout, Task(), spec, horizon=30, arrivals=arrivals)
    batch = sampler.sample(2_000, Generators.from_seed(4))
    rows, arrived = arrivals_of(sampler, batch, "actor")
    goals = batch.goals["actor"]
    gripper = np.array(goals.masks)
    gripper[:, 3] = False
    holds = arrivals.arrival(rows_of(goals.references, data), gripper) <= rows
    late = arrived - rows
    assert 0 < late[holds & (late > 0)].max() <= 4 < late[~holds].max() <= 20
    assert holds.mean() > 0.2  # the reference comes nearer if only the place is left
