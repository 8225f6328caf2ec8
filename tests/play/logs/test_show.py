"""Recorded episodes without a browser: goals, questions, time, and what policies say."""

from __future__ import annotations

import time

import numpy as np
import pytest

from goalsets.core import Episode, GoalSet, GoalsetsError, Group, Query, StateLayout
from goalsets.data.store import Store
from goalsets.data.tolerances import UsualTolerances
from goalsets.data.writer import write_store
from goalsets.play.logs.along import look_along, steps_left
from goalsets.play.logs.goals import LogQuestion
from goalsets.play.logs.setup import LogSetup, open_logs
from goalsets.play.logs.show import LogShow
from goalsets.runs.run import Run
from tests.play.logs.arm import LAYOUT, make_run, make_store, record

LINE = StateLayout(2, [Group("x", [0], "absolute", tolerance=0.5), Group("y", [1], "absolute")])


def on_a_line(*places: float) -> Episode:
    states = np.array([[x, 0.0] for x in places], np.float32)
    return Episode(states, np.zeros((len(places) - 1, 1), np.float32))


def test_it_begins_with_an_episode_whose_end_is_the_goal(show: LogShow) -> None:
    assert (show.episode_number, show.step, show.last, show.goal_step) == (0, 0, 40, 40)
    assert str(show.question.query) == "hand"
    assert show.goal.title == "step 40 of episode 0"
    assert show.along.inside[40]
    assert not show.along.inside[0]


def test_policies_are_asked_at_every_step(show: LogShow, run: Run) -> None:
    policy, _ = run.load()
    said = show.along.said[0]
    states, goal = show.episode.observations, show.goal.state
    for step in (0, 17):
        expected = policy.act(states[step], goal, "hand")
        np.testing.assert_allclose(said.actions[step], expected, rtol=1e-4, atol=1e-4)
        far = policy.distance(states[step], goal, "hand")
        assert said.distances is not None
        np.testing.assert_allclose(said.distances[step], far, rtol=1e-4, atol=1e-4)
    assert said.actions.shape == show.episode.actions.shape
    assert len(said.distances) == show.last + 1


def test_errors_count_the_way_to_the_arrival_only(show: LogShow) -> None:
    along = show.along
    open_ = ~along.inside[:-1]
    expected = np.abs(along.said[0].actions - along.episode.actions)[open_].mean(0)
    np.testing.assert_allclose(along.errors(0), expected, rtol=1e-5)
    show.edit_goal("hand=10,10")  # nobody went there
    assert show.along.errors(0) is None
    assert np.isnan(show.along.left).all()


def test_steps_left_are_those_of_relabeling() -> None:
    # It passes the goal at step 1, leaves, and arrives for good at step 4.
    episode = on_a_line(5, 0, 5, 3, 0.4, 0.2, 0)
    goals = GoalSet(episode.observations[6], Query.parse("x", LINE))
    inside = goals.contains(episode.observations)
    own = steps_left(episode, goals, inside, 6)
    np.testing.assert_array_equal(own, [4, 0, 2, 1, 0, 0, 0])
    # As a goal from elsewhere, the next state that answers it counts.
    other = steps_left(episode, goals, inside, None)
    np.testing.assert_array_equal(other, [1, 0, 2, 1, 0, 0, 0])
    # After the goal, and where nothing answers it any more.
    left = GoalSet(episode.observations[2], Query.parse("x", LINE))
    inside = left.contains(episode.observations)
    np.testing.assert_array_equal(steps_left(episode, left, inside, 2), [0, 1, 0, *[np.nan] * 4])


def test_terms_are_told_in_tolerances(show: LogShow) -> None:
    show.question.say("hand & grip")
    show.ask()
    hand, grip = show.along.terms
    assert hand.tolerances[0] == pytest.approx(hand.distance[0] / 0.04)
    assert grip.tolerances[0] == np.inf
    assert grip.tolerances[40] == 0
    assert show.met == frozenset()
    show.seek(40)
    assert show.met == {"hand", "grip"}


def test_goals_come_from_everywhere(show: LogShow, store: Store) -> None:
    show.take_step(3)
    np.testing.assert_array_equal(show.goal.state, store.validation.episode(0).observations[3])
    show.take_held_out("bank:44")
    assert show.goal.title == "held-out state 44: step 3 of episode 1"
    np.testing.assert_array_equal(show.goal.state, store.validation.observations[44])
    assert show.goal_step is None
    show.take_held_out("hand.x > 10cm & grip >= 1")
    assert show.goal.state[2] > 0.1
    show.edit_goal("shoulder.pos=30; hand.y=-5cm")
    assert show.goal.state[0] == 30
    assert show.goal.state[3] == pytest.approx(-0.05)
    assert show.goal.sources["shoulder.pos"] == "typed"
    assert show.goal.title.endswith(", changed")
    before = show.goal
    for command, text, message in (
        (
            show.take_held_out,
            "bank:999",
            "there are 164 validation states, counted from 0; got 999",
        ),
        (show.take_held_out, "hnd.x > 1", "unknown group 'hnd': did you mean 'hand'"),
        (show.take_held_out, " ", "name a held-out state"),
        (show.edit_goal, "hand=1", "hand takes 2 numbers"),
        (show.edit_goal, "", "type what to set"),
        (show.take_step, 99, "episode 0 has the steps 0 to 40, got 99"),
    ):
        with pytest.raises(GoalsetsError, match=message):
            command(text)  # pyright: ignore[reportArgumentType]
        assert show.goal is before
    show.take_another()
    assert show.goal.title.startswith("held-out state")


def test_a_wrong_question_changes_nothing(show: LogShow) -> None:
    with pytest.raises(GoalsetsError, match="unknown name 'hnd'|unknown group 'hnd'"):
        show.question.say("hnd")
    assert str(show.question.query) == "hand"


def test_another_episode_has_its_own_end_as_goal_unless_one_was_chosen(show: LogShow) -> None:
    show.seek(20)
    show.choose(2)
    assert (show.step, show.goal.title) == (0, "step 40 of episode 2")
    show.take_held_out("bank:0")
    show.choose(3)
    assert show.goal.title == "held-out state 0: step 0 of episode 0"
    assert show.goal_step is None
    show.choose(0)
    assert show.goal_step == 0  # it is of this one again
    with pytest.raises(GoalsetsError, match="there are 4 episodes, counted from 0; got 4"):
        show.choose(4)


def test_time_passes_at_the_rate_of_the_data(show: LogShow) -> None:
    assert show.wait is None
    show.play()
    show.advance()
    assert show.step == 1
    assert show.wait == pytest.approx(0.1, abs=0.05)
    show._due = time.perf_counter() - 0.25  # a page that was late
    show.advance()
    assert show.step == 4
    show.seek(39)
    show._due = time.perf_counter() - 10
    show.advance()
    assert (show.step, show.playing) == (40, False)
    show.play()  # from the start again
    assert show.step == 0
    show.speed = float("inf")
    for _ in range(3):
        show._due = 0.0
        show.advance()
    assert show.step == 3
    show.pause()
    assert show.wait is None


def test_the_data_says_how_much_it_knows(setup: LogSetup, show: LogShow) -> None:
    found = setup.support(show.goals)
    assert "of 2,460 states" in found.text
    assert "of 60 episodes" in found.text
    assert "The data went there" in found.text
    assert " s)" in found.text  # the rate is known
    show.edit_goal("hand=10,10")
    found = setup.support(show.goals)
    assert "0 of 2,460 states" in found.text
    assert "no training state answers this question" in found.warnings[0]
    assert "nearest: step" in found.warnings[-1]


def test_tolerances_that_nobody_gave_come_from_the_data() -> None:
    states = np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32)
    question = LogQuestion(LINE, "x", UsualTolerances(states))
    assert question.note == ""
    question.say("x & y")
    assert "No tolerance is known for y" in question.note
    assert question.query.terms[1].tolerance


def test_two_runs_are_compared_on_the_same_data(here, run: Run, store: Store) -> None:
    other = make_run(here / "gcbc", store, "gcbc", steps=2)
    show = LogShow(open_logs([run.path, other.path], store))
    first, second = show.along.said
    assert first.distances is not None
    assert second.distances is None
    assert not np.allclose(first.actions, second.actions)


def test_what_does_not_fit_is_said(here, run: Run, tmp_path) -> None:
    short = write_store(
        tmp_path / "short",
        [Episode(np.zeros((3, 2), np.float32), np.zeros((2, 1), np.float32))],
        [],
        layout=LINE,
        source="another robot",
    )
    with pytest.raises(GoalsetsError, match="states of 2 coordinates and actions of 1"):
        open_logs([run.path], short)
    renamed = StateLayout(5, LAYOUT.groups, name="other")
    other = make_store(tmp_path / "renamed", layout=renamed)
    theirs = make_run(tmp_path / "run", other, "gcbc", steps=1)
    with pytest.raises(GoalsetsError, match="two runs must have one layout"):
        open_logs([run.path, theirs.path], other)
    with pytest.raises(GoalsetsError, match="expected one run, or two to compare, got 3"):
        open_logs([run.path] * 3, other)
    with pytest.raises(GoalsetsError, match="give --model, too"):
        open_logs([run.path], other, joints=["a=b"])


def test_without_held_out_episodes_those_of_training_are_shown(run: Run, tmp_path) -> None:
    from goalsets.play.logs.words import about_episode

    store = write_store(tmp_path / "s", record(3, 0), [], layout=LAYOUT, source="my arm")
    show = LogShow(open_logs([run.path], store))
    assert show.setup.data.num_episodes == 3
    assert "the policy has seen this one in training" in about_episode(show)


def test_looking_along_asks_nothing_of_the_last_state() -> None:
    """A state without an action after it is judged, but nobody acts on it."""

    class Watched:
        distance_unit = None
        asked = 0

        def act(self, observation, goal, query):
            self.asked = len(observation)
            return np.zeros((len(observation), 1), np.float32)

    episode = on_a_line(0, 1, 2)
    policy = Watched()
    goals = GoalSet(episode.observations[2], Query.parse("x", LINE))
    along = look_along(episode, goals, [policy])  # pyright: ignore[reportArgumentType]
    assert policy.asked == 2
    assert len(along.inside) == 3
