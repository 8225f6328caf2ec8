"""Chips, sliders and text change one query; what cannot be asked changes nothing."""

from __future__ import annotations

import pytest

from goalsets import Query
from goalsets.core import GoalsetsError
from goalsets.envs.tasks import TASKS
from goalsets.play.question import Question, in_slider_unit, ready_made, slider_scale

TASK = TASKS["cube-single-noisy-v0"]


@pytest.fixture
def question() -> Question:
    return Question(TASK.layout, "task")


def test_chips_and_text_speak_of_one_query(question: Question) -> None:
    question.switch("eff_pos", True)
    assert str(question.query) == "eff_pos & block0_pos"
    question.say("cube_pose")
    assert question.asks("block0_yaw")
    assert not question.asks("eff_pos")
    question.switch("block0_pos", False)
    assert str(question.query) == "block0_yaw"


def test_a_chip_that_is_on_in_part_goes_off_whole(question: Question) -> None:
    question.say("eff_pos & [19]:0.1")
    assert question.asks("block0_pos")
    question.switch("block0_pos", False)
    assert str(question.query) == "eff_pos"


def test_sliders_speak_in_centimetres_and_degrees(question: Question) -> None:
    assert question.tolerance("block0_pos") == pytest.approx(4.0)
    question.tolerate("block0_pos", 2.5)
    assert question.query.tolerances == {"block0_pos": pytest.approx(0.25)}
    question.switch("block0_yaw", True)
    question.tolerate("block0_yaw", 10.0)
    assert str(question.query) == "block0_pos:0.25 & block0_yaw:10deg"
    assert question.tolerance("block0_yaw") == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cub_pos", "unknown group 'cub_pos'"),
        ("eff_pos &", "expected a group name"),
        ("none", "no goal"),
        ("eff_pos:20deg", "cannot take 'deg'"),
    ],
)
def test_a_wrong_text_changes_nothing(question: Question, text: str, says: str) -> None:
    before = question.query
    with pytest.raises(GoalsetsError, match=says):
        question.say(text)
    assert question.query is before


def test_the_last_chip_stays_on(question: Question) -> None:
    with pytest.raises(GoalsetsError, match="an empty query has no goal"):
        question.switch("block0_pos", False)
    assert question.asks("block0_pos")


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_ready_made_questions_and_sliders_that_fit(name: str) -> None:
    task = TASKS[name]
    found = ready_made(task)
    assert Query.parse("task", task.layout) in [Query.parse(r.text, task.layout) for r in found]
    assert len({Query.parse(r.text, task.layout) for r in found}) == len(found)
    scales = {group: slider_scale(group) for group in task.layout.groups}
    assert any(scales.values()), "there is nothing to slide"
    for group, scale in scales.items():
        if scale is not None:
            assert group.tolerance is not None
            assert scale.step <= in_slider_unit(group, group.tolerance) <= scale.highest
