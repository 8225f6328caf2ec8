"""Relabeled batches for other trainers: OGBench's keys and meanings; the same for any workers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from goalsets import GoalsetsError, Query
from goalsets.core.packing import unpack_goal
from goalsets.data.trajectories import Trajectories
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.interop.batches import RelabeledData
from goalsets.interop.torch_data import RelabeledStream
from goalsets.relabel.goals import GoalMixture
from goalsets.relabel.labels import IdentityLabels
from goalsets.relabel.sampler import Generators

LAYOUT = tabletop_layout(1)
RAW = Trajectories.from_episodes(list(record_play(20, 30, seed=0).episodes()))
KEYS = {
    "observations",
    "actions",
    "next_observations",
    "value_goals",
    "actor_goals",
    "rewards",
    "masks",
}


def make(**form: object) -> RelabeledData:
    return RelabeledData.from_trajectories(RAW, LAYOUT, horizon=15, **form)


def rows_of(observations: np.ndarray) -> np.ndarray:
    """Where in the data each observation lies; raw values come back but for rounding."""
    apart = np.abs(RAW.observations[None] - observations[:, None]).max(-1)
    assert (apart.min(axis=1) < 1e-5).all()
    return apart.argmin(axis=1)


def test_batches_are_transitions_of_the_data_in_its_units() -> None:
    batch = make().sample(64)
    assert set(batch) == KEYS
    assert all(array.dtype == np.float32 for array in batch.values())
    rows = rows_of(batch["observations"])
    np.testing.assert_allclose(batch["next_observations"], RAW.observations[rows + 1], atol=1e-5)
    np.testing.assert_allclose(batch["actions"], RAW.actions[rows], atol=1e-5)
    assert batch["value_goals"].shape == batch["actor_goals"].shape == (64, 36)


def test_goals_lie_ahead_and_show_only_what_is_asked() -> None:
    batch = make(packed=False, queries="semantic").sample(64)
    rows, goals = rows_of(batch["observations"]), rows_of(batch["actor_goals"])
    assert ((goals > rows) & (goals - rows <= 15)).all()
    packed = make(queries="semantic").sample(64)  # the same draws in another form
    references, masks = unpack_goal(packed["actor_goals"])
    assert (masks == batch["actor_queries"]).all()
    assert (references == np.where(masks, batch["actor_goals"], 0.0)).all()
    assert not masks.all()


@pytest.mark.parametrize("negative", [True, False])
def test_rewards_and_masks_mean_what_they_do_in_ogbench(negative: bool) -> None:
    """With labels by identity: success where the goal is the state itself, and nowhere else."""
    data = make(labels=IdentityLabels(), packed=False, queries="full", negative=negative)
    batch = data.sample(256)
    same = (rows_of(batch["observations"]) == rows_of(batch["value_goals"])).astype(np.float32)
    assert 0.1 < same.mean() < 0.4
    assert (batch["masks"] == 1 - same).all()
    assert (batch["rewards"] == same - negative).all()


def test_what_is_asked_looks_like_what_was_trained_on() -> None:
    data = make(standardised=True, packed=False, queries="full")
    batch = data.sample(32)
    raw = RAW.observations[:5]
    np.testing.assert_allclose(data.observation(raw), data.normaliser.states(raw))
    assert np.abs(batch["observations"]).mean() < 2
    query = Query.parse("eff_pos", LAYOUT)
    goal = data.goal(raw[0], "eff_pos")
    np.testing.assert_allclose(goal[:18][query.mask], data.normaliser.states(raw)[0][query.mask])
    assert data.goal(raw, query).shape == (5, 36)
    np.testing.assert_allclose(
        data.action(data.normaliser.actions(RAW.actions[:5])), RAW.actions[:5], atol=1e-6
    )
    assert (make().observation(raw) == raw).all()


def test_padded_observations_are_as_long_as_goals() -> None:
    data = make(padded=True)
    batch = data.sample(8)
    assert batch["observations"].shape == batch["value_goals"].shape == (8, 36)
    assert data.observation(RAW.observations[0]).shape == (36,)
    assert (batch["next_observations"][:, 18:] == 0).all()


def test_seeds_decide() -> None:
    first, again, other = make(seed=1), make(seed=1), make(seed=2)
    one, two, three = (data.sample(16)["value_goals"] for data in (first, again, other))
    assert (one == two).all()
    assert (one != three).any()
    given = Generators.from_seed(9), Generators.from_seed(9)
    assert (first.sample(4, given[0])["actions"] == again.sample(4, given[1])["actions"]).all()


def test_a_store_needs_a_layout(tmp_path) -> None:
    with_layout = write_store(tmp_path / "a", list(RAW), layout=LAYOUT)
    assert set(RelabeledData.from_store(with_layout).sample(2)) == KEYS
    with pytest.raises(GoalsetsError, match="has no layout, and queries need one"):
        RelabeledData.from_store(write_store(tmp_path / "b", list(RAW)))
    with pytest.raises(GoalsetsError, match="padded=True needs packed=True"):
        make(padded=True, packed=False)
    with pytest.raises(GoalsetsError, match="did you mean 'semantic'"):
        make(queries="semantics")


def take(workers: int, **settings: int) -> list[torch.Tensor]:
    stream = RelabeledStream(make(), 8, **{"seed": 3, "stop": 7, **settings})
    loader = DataLoader(stream, batch_size=None, num_workers=workers)
    return [batch["value_goals"] for batch in loader]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a single core
def test_workers_do_not_change_the_stream() -> None:
    alone = take(0)
    assert len(alone) == 7
    assert len({batch.numpy().tobytes() for batch in alone}) == 7, "batches repeat"
    for workers in (1, 3):
        many = take(workers)
        assert len(many) == 7
        assert all(torch.equal(a, b) for a, b in zip(alone, many, strict=True))


def test_streams_go_on_where_they_stopped() -> None:
    alone, later = take(0), take(0, start=4)
    assert len(later) == 3
    assert all(torch.equal(a, b) for a, b in zip(alone[4:], later, strict=True))
    assert not torch.equal(alone[0], take(0, seed=4)[0])
    with pytest.raises(GoalsetsError, match="expected batch_size of 1 or more"):
        RelabeledStream(make(), 0)


def test_actions_are_bounded_by_what_the_data_did_in_its_own_units() -> None:
    in_degrees = dataclasses.replace(RAW, actions=RAW.actions * 80)
    data = RelabeledData.from_trajectories(in_degrees, LAYOUT, horizon=20)
    asked = data.action(in_degrees.actions[:5])
    np.testing.assert_array_equal(asked, in_degrees.actions[:5])
    most = np.abs(in_degrees.actions).max()
    assert most < np.abs(data.action(np.full(5, 1e6))).max() < 1.3 * most


def test_a_hierarchical_agent_is_fed_states_some_steps_ahead() -> None:
    data = RelabeledData.from_trajectories(RAW, LAYOUT, horizon=20, subgoal_steps=7)
    batch = data.sample(200)
    states, asked = unpack_goal(batch["low_actor_goals"])
    assert asked.all()
    rows = [np.flatnonzero(np.isclose(RAW.observations, s, atol=1e-4).all(1)) for s in states]
    starts = [
        np.flatnonzero(np.isclose(RAW.observations, s, atol=1e-4).all(1))
        for s in batch["observations"]
    ]
    ahead = [int(r[0] - s[0]) for r, s in zip(rows, starts, strict=True) if len(r) and len(s)]
    assert max(ahead) == 7
    assert ahead.count(7) > 150, "fewer only at an episode's end"
    np.testing.assert_array_equal(batch["high_actor_goals"], batch["actor_goals"])
    targets, whole = unpack_goal(batch["high_actor_targets"])
    assert whole.all()
    sooner = ~np.isclose(targets, states, atol=1e-5).all(1)
    assert 0 < sooner.mean() < 0.8, "where the goal comes first, it is the target"
    goals, masks = unpack_goal(batch["actor_goals"])
    assert np.isclose(np.where(masks, targets, 0)[sooner], goals[sooner], atol=1e-4).all()


def test_the_mixture_of_goals_is_mine() -> None:
    here = GoalMixture(p_current=1.0, p_future=0.0, p_random=0.0)
    batch = RelabeledData.from_trajectories(RAW, LAYOUT, value_goals=here).sample(50)
    assert (batch["masks"] == 0).all()
    assert (batch["rewards"] == 0).all()
