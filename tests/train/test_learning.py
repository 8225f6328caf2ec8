"""Learning is tested, not assumed: every learner learns the tabletop, and one policy many goals."""

from __future__ import annotations

import functools

import pytest
import torch

from goalsets.learners import LEARNERS
from tests.tabletop import Trained, official, predicate, train

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]
# The many-goals tests share their policies, so they stay in one process.

FOUR = ("cube_pos", "airborne_cube_pos", "ee_pos", "cube_yaw")


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_learns_the_tabletop(learner: str) -> None:
    trained = train(learner, "gs-semantic")
    assert official(trained.policy) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_in_less_than_a_minute_on_two_cores(learner: str) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        trained = train(learner, "gs-semantic")
    finally:
        torch.set_num_threads(before)
    assert official(trained.policy) >= 0.9
    assert trained.seconds < 60


@functools.cache
def longer(scheme: str) -> Trained:
    return train("gcbc", scheme, steps=3_000, hidden=256)


@pytest.mark.xdist_group("many goals")
def test_one_policy_answers_many_questions() -> None:
    answers = {name: predicate(longer("gs-semantic").policy, name) for name in FOUR}
    assert min(answers.values()) >= 0.8, answers


@pytest.mark.xdist_group("many goals")
def test_the_full_state_does_not() -> None:
    answers = {name: predicate(longer("her-full").policy, name) for name in FOUR}
    assert min(answers.values()) < 0.8, answers
    assert sum(answers.values()) / len(answers) < 0.8, answers


@pytest.mark.xdist_group("many goals")
def test_a_task_projection_answers_only_its_own() -> None:
    policy = longer("her-task").policy
    assert predicate(policy, "cube_pos") >= 0.8
    assert predicate(policy, "ee_pos") < 0.5
    assert predicate(policy, "cube_yaw") < 0.5
