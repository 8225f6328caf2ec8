"""Learning is tested, not assumed: every learner learns the tabletop, and one policy many goals."""

from __future__ import annotations

import functools

import pytest

from goalsets.learners import LEARNERS
from tests.tabletop import Trained, official, predicate, train

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

FOUR = ("cube_pos", "airborne_cube_pos", "ee_pos", "cube_yaw")


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_learns_the_tabletop(learner: str) -> None:
    trained = train(learner, "gs-semantic")
    assert official(trained.policy) >= 0.9


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
