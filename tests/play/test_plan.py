"""Plans in a show: they are followed and ticked off, and a person may change them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalsetsError
from goalsets.play import planning, words
from goalsets.play.course import Chain
from goalsets.play.goal import Goal
from goalsets.play.setup import Setup, open_setup
from goalsets.play.show import Show
from tests.planned import SWAP, TASK, off_the_table, planned_run


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    place = tmp_path_factory.mktemp("planned")
    run = planned_run(place)
    return open_setup([run.path], data=place / TASK.name)


@pytest.fixture
def show(planned: Setup) -> Iterator[Show]:
    """A swap that is planned."""
    shown = swap(planned)
    yield shown
    shown.close()


def swap(setup: Setup) -> Show:
    show = Show(setup)
    show.start(task_id=SWAP)
    show.set_goal(setup.shelf.official(SWAP, 0))
    planning.switch(show, True)
    return show


def chain_of(show: Show) -> Chain:
    chain = show.views()[0].chain
    assert chain is not None
    return chain


def marks(show: Show) -> list[str]:
    return re.findall("data-step='([^']*)'", words.plans(show.views()))


def do_step(show: Show) -> None:
    """Put the world where the step that is due wants it, and let the show see it."""
    step = chain_of(show).plan.steps[chain_of(show).at]
    state = show.stages[0].world.observation.copy()
    for term in step.goals.query.terms:
        state[list(term.indices)] = np.asarray(step.goals.reference)[list(term.indices)]
    show.stages[0].world.adapter.put(state)
    show.step()


def test_a_run_without_a_planner_has_no_plans(setup: Setup) -> None:
    assert setup.checkpoints[0].planner is None
    show = Show(setup)
    planning.switch(show, True)
    assert show.views()[0].chain is None
    assert "no planner" in words.plans(show.views())
    show.step()
    with pytest.raises(GoalsetsError, match="no plan to change"):
        planning.change(show, 0, lambda course, state: course.drop(0, state))
    with pytest.raises(GoalsetsError, match="no plan to insert a step into"):
        planning.begin_step(show)
    show.close()


def test_a_plan_is_followed_and_ticked_off(show: Show) -> None:
    first = chain_of(show)
    assert [step.aside for step in first.plan.steps] == [True, False, False]
    assert marks(show) == ["due", "to come", "to come"]
    told = words.plans(show.views())
    assert "on the way" in told
    assert f"About {first.plan.price:.0f} steps in all." in told
    assert first.plan.steps[1].evidence in told
    # The ghost is what is asked for next, not the whole goal.
    ghost = show.ghost(show.views()[0])
    assert ghost.query == first.plan.steps[0].goals.query
    np.testing.assert_array_equal(ghost.goal.state, first.plan.steps[0].goals.reference)
    assert ghost.met == frozenset()
    assert show.shown_goal.title == "official goal 4"
    do_step(show)
    assert marks(show) == ["done", "due", "to come"]
    assert chain_of(show).plan is first.plan
    assert show.ghost(show.views()[0]).query == first.plan.steps[1].goals.query
    # The light is about the whole question all the time.
    assert show.views()[0].goals.query == show.question.query
    planning.switch(show, False)
    assert show.views()[0].chain is None
    assert show.ghost(show.views()[0]).query == show.question.query


def test_the_last_step_is_ticked_when_the_question_holds(show: Show) -> None:
    do_step(show)
    do_step(show)
    assert marks(show) == ["done", "done", "due"]
    show.stages[0].world.adapter.put(show.goal.state)
    show.stages[0]._judge()
    assert marks(show) == ["done"] * 3
    assert show.ghost(show.views()[0]).query == show.question.query


def test_the_policy_is_asked_for_the_step(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[np.ndarray, np.ndarray]] = []
    policy = show.stages[0].checkpoint.policy
    act = policy.act

    def watch(seen, goal, query, **more):
        asked.append((np.asarray(goal), np.asarray(query)))
        return act(seen, goal, query, **more)

    monkeypatch.setattr(policy, "act", watch)
    show.step()
    due = chain_of(show).plan.steps[0].goals
    np.testing.assert_array_equal(asked[0][0], due.reference)
    np.testing.assert_array_equal(asked[0][1], due.query.mask)


def test_a_new_plan_is_made_when_something_is_lost(show: Show) -> None:
    do_step(show)
    do_step(show)
    kept = chain_of(show).plan.steps[1].goals.query.indices
    state = show.stages[0].world.observation.copy()
    due = chain_of(show).plan.steps[2].goals.query.indices
    state[due[0]] += 0.6  # what is due has begun to move, so the other one is in no hand
    show.stages[0].world.adapter.put(state)
    show.step()
    state[list(kept)] = [-0.6, 0.3, 0.2]  # a free place
    show.stages[0].world.adapter.put(state)
    for _ in range(11):  # two looks: it must have come to rest
        show.step()
    assert chain_of(show).plans == 2
    assert "This is plan 2" in words.plans(show.views())


def test_where_there_is_no_plan_a_sentence_says_why(planned: Setup) -> None:
    show = swap(planned)
    show.set_goal(Goal.whole(TASK.layout, off_the_table(show.goal.state), "far away"))
    chain = chain_of(show)
    assert not chain.plan.found
    told = words.plans(show.views())
    assert chain.plan.missing.rstrip(".") in told
    assert "Everything is asked for at once" in told
    assert show.ghost(show.views()[0]).query == show.question.query
    show.step()  # and so it is
    state = show.stages[0].world.observation
    show.set_goal(Goal.whole(TASK.layout, state, "now"))
    assert "holds already" in words.plans(show.views())
    show.close()


def test_steps_are_moved_and_dropped(show: Show) -> None:
    one, two, three = chain_of(show).plan.steps
    planning.change(show, 0, lambda course, state: course.move(2, -1, state))
    assert chain_of(show).plan.steps == (one, three, two)
    planning.change(show, 0, lambda course, state: course.move(0, 1, state))
    assert chain_of(show).plan.steps == (three, one, two)
    assert chain_of(show).goal is not None
    np.testing.assert_array_equal(chain_of(show).goal.state, three.goals.reference)
    planning.change(show, 0, lambda course, state: course.drop(1, state))
    assert chain_of(show).plan.steps == (three, two)
    before = chain_of(show)
    for number, by, why in (
        (0, -1, "due already"),
        (1, 1, "the last already"),
        (5, 1, "no step 6"),
    ):
        with pytest.raises(GoalsetsError, match=why):
            planning.change(show, 0, lambda c, s, n=number, b=by: c.move(n, b, s))
    with pytest.raises(GoalsetsError, match="no step 0"):
        planning.change(show, 0, lambda course, state: course.drop(-1, state))
    assert chain_of(show) is before
    do_step(show)
    with pytest.raises(GoalsetsError, match="no step 1 that is still to be done"):
        planning.change(show, 0, lambda course, state: course.drop(0, state))
    planning.change(show, 0, lambda course, state: course.drop(1, state))
    assert chain_of(show).left == []
    assert "Now everything is asked for at once" in words.plans(show.views())


def test_a_step_of_ones_own_comes_before_the_due_one(show: Show) -> None:
    first, goal, query = chain_of(show).plan, show.goal, show.question.query
    planning.begin_step(show)
    # It begins as the step that is due, and nobody is asked for it yet.
    assert str(show.question.query) == str(first.steps[0].goals.query)
    show.question.say("block1_pos")
    show.ask()
    show.set_goal(show.setup.shelf.edit(show.goal, "block1_pos.x=-1.5"))
    assert show.stages[0].goals is not None
    assert show.stages[0].goals.query == query
    assert chain_of(show).plan is first
    ghost = show.ghost(show.views()[0])
    assert ghost.goal is show.goal
    assert str(ghost.query) == "block1_pos"
    show.step()  # the robot goes on meanwhile
    assert chain_of(show).plan is first
    planning.insert_step(show)
    assert (show.goal, show.question.query, show.draft) == (goal, query, None)
    chain = chain_of(show)
    assert chain.plan.steps[1:] == first.steps
    assert chain.own == {0}
    assert str(chain.plan.steps[0].goals.query) == "block1_pos"
    assert "your step" in words.plans(show.views())
    assert show.ghost(show.views()[0]).goal.state[list(TASK.layout.group("block1_pos").indices)][
        0
    ] == pytest.approx(-1.5)
    do_step(show)
    assert marks(show) == ["done", "due", "to come", "to come"]
    with pytest.raises(GoalsetsError, match="no step to insert"):
        planning.insert_step(show)


def test_a_draft_is_left_behind(show: Show) -> None:
    goal, query = show.goal, show.question.query
    for leave in (Show.drop_draft, Show.start, lambda s: planning.switch(s, True)):
        planning.begin_step(show)
        show.question.say("eff_pos")
        show.another_goal()
        assert show.goal is not goal
        leave(show)
        assert (show.goal, show.question.query, show.draft) == (goal, query, None)
        assert len(chain_of(show).plan.steps) == 3


def test_a_recording_is_shown_with_its_plan(show: Show) -> None:
    show.step()
    do_step(show)
    show.step()
    planning.switch(show, False)
    show.step()
    show.watch(show.snapshot()[-1])
    assert marks(show) == ["due", "to come", "to come"]
    for _ in range(2):
        show.step()
    assert marks(show) == ["done", "due", "to come"]
    for _ in range(2):
        show.step()
    assert show.views()[0].chain is None
    show.leave()
    assert show.views()[0].chain is None


def test_two_runs_of_which_one_plans(planned: Setup) -> None:
    with_planner = planned.checkpoints[0]
    without = dataclasses.replace(with_planner, name="other", planner=None)
    show = swap(dataclasses.replace(planned, checkpoints=(with_planner, without)))
    show.step()
    told = words.plans(show.views())
    assert told.count("data-step") == 3
    assert "other" in told
    assert "This run has no planner" in told
    planning.begin_step(show)
    planning.insert_step(show)
    assert len(chain_of(show).plan.steps) == 4
    assert show.views()[1].chain is None
    show.close()


def test_words_of_a_plan_are_escaped(show: Show) -> None:
    view = show.views()[0]
    assert view.chain is not None
    plan = dataclasses.replace(view.chain.plan, steps=(), missing="<b>no</b> move.")
    broken = dataclasses.replace(view, chain=dataclasses.replace(view.chain, plan=plan))
    assert "No plan: &lt;b&gt;no&lt;/b&gt; move. Everything" in words.plans([broken])


def test_a_damaged_planner_is_named(planned: Setup, tmp_path: Path) -> None:
    run = planned_run(tmp_path)
    (run.path / "planner.safetensors").write_bytes(b"nothing")
    with pytest.raises(GoalsetsError, match="is not a planner, or is damaged"):
        open_setup([run.path])


def test_a_stuck_robot_is_shaken_as_everywhere_else(show: Show) -> None:
    stage = show.stages[0]
    assert stage.course is not None
    state, wanted = stage.world.observation, np.linspace(-0.5, 0.5, 5, dtype=np.float32)
    taken = [stage.course.shaken(wanted * (1 + n % 2), state) for n in range(60)]
    assert np.array_equal(taken[0], wanted)
    assert any(not np.array_equal(a, wanted * (1 + n % 2)) for n, a in enumerate(taken))
