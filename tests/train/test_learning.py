"""Learning is tested, not assumed: every learner learns the tabletop, and one policy many goals."""

from __future__ import annotations

import functools

import pytest
import torch

from goalsets.learners import LEARNERS
from tests.tabletop import Trained, official, predicate, train

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]
# The many-goals tests share their policies, so they stay in one process.

QUESTIONS = ("cube_pos", "airborne_cube_pos", "cube_yaw", "cube_pose", "ee_pos", "ee_pose")


@functools.cache
def trained(learner: str, scheme: str) -> Trained:
    return train(learner, scheme)


def _marks(learner: str) -> list[pytest.MarkDecorator]:
    # The others take most of a minute each, which every change need not wait for.
    often = ("gcbc", "gcivl", "gcdl", "chunkbc")
    return [pytest.mark.xdist_group(learner)] + [pytest.mark.slow] * (learner not in often)


@pytest.mark.parametrize("learner", [pytest.param(n, marks=_marks(n)) for n in LEARNERS])
def test_every_learner_learns_the_tabletop(learner: str) -> None:
    assert official(trained(learner, "gs-semantic").policy) >= 0.9


@pytest.mark.xdist_group("gcbc")
def test_direct_hindsight_answers_what_imitation_alone_does_not() -> None:
    """Headings need several lifts, and states in which the data did this and that."""
    plain, direct = (trained("gcbc", scheme).policy for scheme in ("gs-semantic", "gs-direct"))
    for question in ("cube_yaw", "cube_pose", "ee_pose"):
        assert predicate(plain, question) <= 0.5, question
        assert predicate(direct, question) >= 0.9, question
    assert official(direct) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_in_less_than_a_minute_on_two_cores(learner: str) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        alone = train(learner, "gs-semantic")
    finally:
        torch.set_num_threads(before)
    assert official(alone.policy) >= 0.9
    assert alone.seconds < 60


# --- One model, many goals: GCDL under three schemes, on the same data ---


@pytest.mark.xdist_group("gcdl")
def test_one_policy_answers_many_questions() -> None:
    policy = trained("gcdl", "gs-semantic").policy
    answers = {name: predicate(policy, name) for name in QUESTIONS}
    assert min(answers.values()) >= 0.8, answers


@pytest.mark.xdist_group("gcdl")
def test_the_full_state_does_not() -> None:
    policy = trained("gcdl", "her-full").policy
    answers = {name: predicate(policy, name) for name in QUESTIONS}
    assert sum(rate >= 0.8 for rate in answers.values()) < 4, answers


@pytest.mark.xdist_group("gcdl")
def test_a_task_projection_answers_only_its_own() -> None:
    policy = trained("gcdl", "her-task").policy
    assert predicate(policy, "cube_pos") >= 0.8
    # Not ee_pos: carrying the block, the hand often passes where it is asked to be.
    for name in ("cube_yaw", "cube_pose", "ee_pose"):
        assert predicate(policy, name) < 0.5, name
