"""A show runs episodes as it is told, whatever is drawn of it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from goalsets import GoalSet, Query
from goalsets.play import words
from goalsets.play.goal import Goal
from goalsets.play.panels.insight import curves_of
from goalsets.play.recording import Recording
from goalsets.play.setup import Setup
from goalsets.play.show import MAX_RECORDINGS, Show
from goalsets.play.stage import MAX_FRAMES
from goalsets.play.world import World, WorldError


@pytest.fixture
def show(setup: Setup) -> Iterator[Show]:
    shown = Show(setup)
    yield shown
    shown.close()


def reach(show: Show) -> None:
    """Ask for what is so already."""
    state = show.stages[0].world.observation
    show.set_goal(Goal.whole(show.setup.task.layout, state, "now"))


def test_a_step_is_a_step(show: Show) -> None:
    first = show.stages[0].world.observation.copy()
    show.step()
    assert show.steps == 1
    assert not np.array_equal(first, show.stages[0].world.observation)
    assert len(show.stages[0].frames) == 2
    assert not show.playing


def test_reset_gives_the_same_start_again(show: Show) -> None:
    first = show.views()[0].frame.observation
    for _ in range(5):
        show.step()
    show.start()
    np.testing.assert_array_equal(show.views()[0].frame.observation, first)
    show.start(task_id=2)
    assert not np.array_equal(show.views()[0].frame.observation, first)
    assert [r.steps for r in show.recordings] == [5]


def test_the_clock_keeps_its_speed(show: Show) -> None:
    show.stop_when_reached = False
    show.speed = 4.0  # of steps that take a tenth of a second: forty a second
    show.play()
    until = time.perf_counter() + 0.5
    while time.perf_counter() < until:
        wait = show.wait
        assert wait is not None
        time.sleep(wait)
        show.advance()
    assert 1 <= show.steps <= 22  # fewer where the machine is busy, never more
    show.pause()
    assert show.wait is None
    show.advance()
    assert show.steps <= 22


def test_success_is_latched_for_what_was_asked(show: Show) -> None:
    reach(show)
    view = show.views()[0]
    assert view.inside
    assert view.reached_at == 0
    assert "Reached at step 0" in words.light(show.views(), show.ending, show.playing)
    show.play()
    show.step()
    assert show.ending == "reached"
    assert not show.playing
    show.set_goal(show.setup.shelf.held_out(5))  # another goal has to be reached anew
    assert show.views()[0].reached_at is None
    assert show.ending is None


def test_the_question_may_change_in_the_middle(show: Show) -> None:
    show.step()
    show.question.say("eff_pos")
    show.ask()
    assert show.steps == 1
    assert [term.name for term in show.views()[0].violations()] == ["eff_pos"]
    show.step()
    recording = show.snapshot()[-1]
    assert [(cue.step, str(cue.goals.query)) for cue in recording.cues] == [
        (0, "block0_pos"),
        (1, "eff_pos"),
    ]
    assert str(recording.cue_at(0).goals.query) == "block0_pos"
    assert str(recording.cue_at(2).goals.query) == "eff_pos"


def test_time_is_up_after_the_horizon_and_may_go_on(show: Show) -> None:
    show.stop_when_reached = False
    show.play()
    for _ in range(show.setup.task.horizon):
        show.step()
    assert show.ending == "time is up"
    assert not show.playing
    show.play()
    show.step()
    assert show.steps == show.setup.task.horizon + 1


def test_it_keeps_going_when_told_so_and_keeps_little(show: Show) -> None:
    show.endless = True
    show.play()
    for _ in range(20):
        reach(show)
        show.step()
    assert show.playing
    assert len(show.recordings) == MAX_RECORDINGS
    for stage in show.stages:
        assert stage.frames.maxlen == MAX_FRAMES


def test_a_push_disturbs(show: Show) -> None:
    before = show.stages[0].world.observation.copy()
    show.push()
    after = show.stages[0].world.observation
    block = list(show.setup.task.layout.by_name["block0_pos"].indices)
    assert not np.array_equal(before[block], after[block])


def test_distances_follow_the_episode_under_any_question(show: Show) -> None:
    other = Query.parse("eff_pos", show.setup.task.layout)
    for _ in range(3):
        show.step()
    ((asked, others),) = show.curves([show.question.query, other])
    assert len(asked) == len(others) == 4
    show.step()
    ((longer, _),) = show.curves([show.question.query, other])
    np.testing.assert_allclose(longer[:4], asked, rtol=1e-4)
    show.stages[0].keep_curves({show.question.query})
    assert len(show.stages[0]._curves) == 1


def test_a_recording_is_shown_again(show: Show) -> None:
    first = show.views()[0].frame.observation
    for _ in range(4):
        show.step()
    live = show.views()[0].frame.observation
    show.watch(show.snapshot()[-1])
    np.testing.assert_array_equal(show.views()[0].frame.observation, first)
    assert len(show.curves([show.question.query])[0][0]) == 5
    for _ in range(10):
        show.step()
    np.testing.assert_array_equal(show.views()[0].frame.observation, live)
    assert not show.playing
    show.play()
    assert show.replay is not None
    assert show.replay.moment == 0
    show.leave()
    assert show.views()[0].step == 4
    assert show.steps == 4


@pytest.mark.parametrize(
    ("asked", "titled"),
    [
        ("eff_pos", "#1 not reached: eff_pos"),
        ("[height]", "#1 reached at 4: block0_pos"),
        ("eff_pos & [height]", "#1 reached at 4: 2 parts"),
    ],
)
def test_a_recording_is_named_by_what_was_asked(show: Show, asked: str, titled: str) -> None:
    layout = show.setup.task.layout
    state = show.stages[0].world.observation
    asked = asked.replace("height", str(layout.group("block0_pos").indices[2]))
    recording = Recording(1, 1, 0, reached=(None if "not" in titled else 4,))
    goal = Goal.whole(layout, state, "now")
    recording.cue(0, goal, GoalSet(state, Query.parse(asked, layout)))
    assert recording.title() == titled


def test_two_checkpoints_play_side_by_side(two: Setup) -> None:
    show = Show(two)
    show.step()
    views = show.views()
    assert [view.name for view in views] == ["gcdl", "gcbc"]
    assert views[0].goals.query == views[1].goals.query
    curves = show.curves([show.question.query])
    assert np.isfinite(curves[0][0]).all()
    assert np.isnan(curves[1][0]).all()  # a learner that tells no distance
    show.push()
    table = words.violations(views, two.task.layout)
    assert "gcdl" in table
    assert "gcbc" in table
    show.close()


def test_curves_are_numbers_also_where_a_stage_is_done_or_predicts_nothing(two: Setup) -> None:
    show = Show(two)
    show.stages[1].push(np.random.default_rng(0))
    reach(show)  # the first stage is there already; the second's block was pushed away
    for _ in range(3):
        show.step()
    assert [stage.steps for stage in show.stages] == [0, 3]
    steps, curves = curves_of(show, [("the question", show.question.query)])
    assert list(curves) == ["gcdl: the question"]
    curve = curves["gcdl: the question"]
    np.testing.assert_array_equal(steps, np.arange(4.0))
    assert len(curve) == 4
    assert np.isfinite(curve).all()
    show.close()


def test_a_broken_world_says_so_and_starts_anew(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = show.stages[0].checkpoint.policy.act
    monkeypatch.setattr(
        show.stages[0].checkpoint.policy,
        "act",
        lambda *_, **__: np.full(5, np.nan, dtype=np.float32),
    )
    with pytest.raises(WorldError, match="not finite"):
        show.step()
    monkeypatch.setattr(show.stages[0].checkpoint.policy, "act", act)
    broken = show.stages[0].world

    def fail(*_: object) -> None:
        raise RuntimeError("the simulator is gone")

    monkeypatch.setattr(broken, "start", fail)
    show.start()
    assert show.stages[0].world is not broken
    show.step()
    assert show.steps == 1


def test_what_the_data_says(setup: Setup, show: Show) -> None:
    found = setup.support(show.goals)
    assert "of 62 states" in found.text
    show.question.say("all")
    assert any("training" in text for text in setup.support(show.goals).warnings)
    assert "&lt;" not in words.support(found)


def test_words_are_escaped() -> None:
    assert "<script>" not in words.problem("<script>alert(1)</script>")
    assert "<script>" not in words.note("<script>")
    shown = words.problem("cannot read the query\n  eff_pos &\n           ^")
    assert "<pre" in shown


def test_a_world_of_the_tabletop_has_no_physics(setup: Setup) -> None:
    world = World(setup.task)
    assert world.physics is None
    assert world.frame().pose.size == 0
    assert world.pushes == "block"
    world.close()
