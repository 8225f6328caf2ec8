"""Policies: the query is an argument, one or many at a time, and bad questions are refused."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalsetsError, Query
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.learners import LEARNERS
from goalsets.policy import TrainedPolicy
from tests.train.test_loop import config, make_trainer

LAYOUT = tabletop_layout(1)
STATES = record_play(1, 20, seed=5).observations[0]


def make_policy(learner: str = "gcbc", scheme: str = "gs-blockwise") -> TrainedPolicy:
    trainer = make_trainer(config(learner=learner, scheme=scheme, steps=2), None)
    trainer.run()
    data = Trajectories.from_episodes(list(record_play(20, 50, seed=1).episodes()))
    return TrainedPolicy(trainer.learner, LAYOUT, Normaliser.fit(data))


def test_one_and_many_agree() -> None:
    policy = make_policy()
    one = policy.act(STATES[0], STATES[9], "cube_pos")
    many = policy.act(STATES[:5], STATES[9], "cube_pos")
    assert one.shape == (5,)
    assert many.shape == (5, 5)
    np.testing.assert_allclose(many[0], one, atol=1e-5)
    assert (np.abs(many) <= 1).all()


def test_text_query_and_mask_are_the_same_question() -> None:
    policy = make_policy()
    query = Query.parse("cube_pos", LAYOUT)
    answers = [policy.act(STATES[0], STATES[9], q) for q in ("cube_pos", query, query.mask)]
    assert (answers[0] == answers[1]).all()
    assert (answers[0] == answers[2]).all()


def test_the_query_matters_and_what_it_ignores_does_not() -> None:
    policy = make_policy()
    asked = policy.act(STATES[0], STATES[9], "cube_pos")
    assert (asked != policy.act(STATES[0], STATES[9], "ee_pos")).any()
    elsewhere = STATES[9].copy()
    elsewhere[~Query.parse("cube_pos", LAYOUT).mask] += 3.0
    assert (asked == policy.act(STATES[0], elsewhere, "cube_pos")).all()


def test_a_query_for_each_row() -> None:
    policy = make_policy()
    masks = np.stack([Query.parse(t, LAYOUT).mask for t in ("cube_pos", "ee_pos")])
    both = policy.act(STATES[0], STATES[9], masks)
    np.testing.assert_allclose(both[1], policy.act(STATES[0], STATES[9], "ee_pos"), atol=1e-5)


@pytest.mark.parametrize("learner", LEARNERS)
def test_distance_is_the_learners(learner: str) -> None:
    policy = make_policy(learner)
    if policy.distance_unit is None:
        with pytest.raises(GoalsetsError, match=f"{type(policy.learner).__name__} learns no"):
            policy.distance(STATES, STATES[-1], "cube_pos")
        return
    many = policy.distance(STATES, STATES[-1], "cube_pos")
    one = policy.distance(STATES[7], STATES[-1], "cube_pos")
    assert many.shape == (21,)
    assert one == pytest.approx(many[7], rel=1e-4, abs=1e-4)
    assert (many != policy.distance(STATES, STATES[-1], "ee_pos")).any()


def test_errors() -> None:
    policy = make_policy()
    other = Query.all(tabletop_layout(2))
    for message, arguments in {
        r"observation needs shape \[18\] or \[B, 18\], got \[3\]": (
            STATES[0, :3],
            STATES[1],
            "all",
        ),
        r"goal needs shape \[18\] or \[B, 18\], got \[1, 1, 18\]": (
            STATES[0],
            STATES[None, :1],
            "all",
        ),
        "goal has 3 rows, but another input has 5": (STATES[:5], STATES[:3], "all"),
        "unknown group 'cub_pos': did you mean 'cube_pos'": (STATES[0], STATES[1], "cub_pos"),
        "an empty query has no goal": (STATES[0], STATES[1], np.zeros(18, bool)),
        r"a mask needs shape \[18\]": (STATES[0], STATES[1], np.ones(3, bool)),
        "the query is over layout 'tabletop-double'": (STATES[0], STATES[1], other),
    }.items():
        with pytest.raises(GoalsetsError, match=message):
            policy.act(*arguments)
    with pytest.raises(GoalsetsError, match="GCBC learns no distance"):
        policy.distance(STATES[0], STATES[1], "all")
