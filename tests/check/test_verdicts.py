"""Verdicts of whole runs: good ones go, and whatever is wrong with others is said."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from goalsets import Query
from goalsets.check import Checked, Question, check_run, make_question
from goalsets.core import Episode
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.runs.run import Run
from tests.check.conftest import LAYOUT, USUAL, episodes, make_run, make_store

pytestmark = pytest.mark.full

QUESTIONS = ("block0_pos", "eff_pos & eff_yaw")


def ask(run: Run, *texts: str, goals: np.ndarray | None = None) -> list[Question]:
    return [make_question(Query.parse(text, LAYOUT), USUAL, goals=goals) for text in texts]


def check(run: Run, store: Store, *texts: str) -> tuple[Checked, ...]:
    return check_run(run, store, ask(run, *texts)).questions


def test_a_trained_policy_goes(trained: Run, store: Store) -> None:
    for checked in check(trained, store, *QUESTIONS):
        assert checked.verdict.word == "go", checked.verdict
        assert checked.imitation is not None
        assert checked.imitation.overall.learned > 1.4
        assert checked.verdict.score > 0.6
        assert "and it acts as the data does." in checked.verdict.reason


def test_an_untrained_policy_is_stopped(untrained: Run, store: Store) -> None:
    for checked in check(untrained, store, *QUESTIONS):
        assert checked.verdict.word == "no-go"
        assert "as well as a look-up of similar states does." in checked.verdict.reason
        assert checked.verdict.score < 0.4


def test_a_policy_with_shuffled_actions_is_stopped(misled: Run, store: Store) -> None:
    found = check_run(misled, store, ask(misled, *QUESTIONS))
    assert [q.verdict.word for q in found.questions] == ["no-go", "no-go"]
    assert "The run was not trained on this data" in found.notes[0]


def test_a_goal_without_data_is_stopped_with_its_nearest_answers(
    trained: Run, store: Store
) -> None:
    far = store.validation.observations[:1] + np.float32(3.0)
    (checked,) = check_run(trained, store, ask(trained, "block0_pos", goals=far)).questions
    assert checked.verdict.word == "no-go"
    assert "No training state answers it; the nearest is" in checked.verdict.reason
    assert checked.support.answered == checked.support.states == 0
    near = checked.support.nearest
    assert len(near) == 3
    assert 1 < near[0].tolerances <= near[1].tolerances <= near[2].tolerances
    state = store.train.episode(near[0].episode).observations[near[0].step]
    apart = np.linalg.norm((state - far[0])[list(LAYOUT.group("block0_pos").indices)])
    tolerance = LAYOUT.group("block0_pos").tolerance
    assert tolerance is not None
    assert near[0].tolerances == pytest.approx(apart / tolerance, rel=1e-4)


def test_what_never_changes_cannot_be_asked(trained: Run, tmp_path: Path) -> None:
    def frozen(episode: Episode) -> Episode:
        states = np.array(episode.observations)
        states[:, list(LAYOUT.group("block0_pos").indices)] = 0.5
        return dataclasses.replace(episode, observations=states)

    still = write_store(
        tmp_path / "still",
        [frozen(e) for e in episodes(20, 0)],
        [frozen(e) for e in episodes(5, 1)],
        layout=LAYOUT,
        source="frozen",
    )
    (checked,) = check(trained, still, "block0_pos")
    assert checked.imitation is None
    assert checked.verdict.word == "no-go"
    assert "it never changes" in checked.verdict.reason


def test_a_policy_that_cannot_hear_is_stopped(store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path / "task", store, 1, scheme="her-task")
    (checked,) = check(run, store, "eff_pos")
    assert checked.verdict.word == "no-go"
    assert "does not see all of this question" in checked.verdict.reason


def test_without_held_out_episodes_it_is_a_caution_at_best(trained: Run, tmp_path: Path) -> None:
    store = write_store(
        tmp_path / "all", episodes(60, 0), [], layout=LAYOUT, source="nothing held out"
    )
    found = check_run(trained, store, ask(trained, "eff_pos & eff_yaw"))
    assert not found.held_out
    assert found.questions[0].verdict.word != "go"
    told = (found.questions[0].verdict.reason, *found.questions[0].verdict.others)
    assert any("no episode is held out" in text.lower() for text in told)


def test_what_is_found_does_not_depend_on_the_other_questions(trained: Run, store: Store) -> None:
    alone = check(trained, store, "block0_pos")[0]
    beside = check(trained, store, "eff_pos", "block0_pos")[1]
    assert alone.imitation == beside.imitation
    assert alone.support == beside.support


def test_all_single_groups_and_pairs_are_asked(untrained: Run, tmp_path: Path) -> None:
    small = make_store(tmp_path / "small", episodes(10, 0), held_out=4)
    found = check_run(untrained, small)
    groups = len(LAYOUT.groups)
    assert len(found.questions) == groups + groups * (groups - 1) // 2
    assert len(check_run(untrained, small, pairs=False).questions) == groups
