"""Suites: built once from held-out states, refused when changed, the same for every run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalSet, GoalsetsError, Query
from goalsets.core.margins import margin
from goalsets.data.store import Store
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.suites import (
    Description,
    Predicate,
    Suite,
    build_suite,
    read_description,
    run_suite,
    shipped_description,
)
from goalsets.evaluate.suites.build import with_episodes
from goalsets.runs.run import Run
from tests.evaluate.conftest import TASK, make_run, make_store

LAYOUT = TASKS[TASK].layout


@pytest.fixture(scope="module")
def suite(store: Store) -> Suite:
    return build_suite(TASK, store, with_episodes(shipped_description(TASK), 2))


def test_references_are_held_out_filtered_and_away_from_the_start(
    suite: Suite, store: Store
) -> None:
    bank = {state.tobytes() for state in np.asarray(store.validation.observations)}
    world = TASKS[TASK].open()
    assert len(suite.episodes) == 7 * 5 * 2
    for episode in suite.episodes:
        first, official = world.start(episode.task_id, episode.seed)
        goal = np.array(episode.goal, dtype=np.float32)
        if episode.predicate == "cube_pos":
            np.testing.assert_array_equal(goal, official)
            continue
        assert goal.tobytes() in bank
        question = suite.questions[episode.predicate]
        assert margin(GoalSet(goal, Query.parse(question.query, LAYOUT)), first) >= 2.0
        height = goal[LAYOUT.group("block0_pos").indices[2]]
        if episode.predicate in ("cube_yaw", "cube_pose"):
            assert 0.10 <= height <= 0.35
        if episode.predicate == "airborne_cube_pos":
            assert height >= 0.60
    low, mean, high = suite.questions["airborne_cube_pos"].statistics["block0_pos.z"]
    assert 0.60 <= low <= mean <= high


def test_building_again_gives_the_same_and_other_predicates_change_nothing(
    suite: Suite, store: Store
) -> None:
    shipped = with_episodes(shipped_description(TASK), 2)
    assert build_suite(TASK, store, shipped).digest == suite.digest
    fewer = Description("fewer", shipped.predicates[4:5], episodes=2)
    alone = build_suite(TASK, store, fewer)
    assert alone.episodes == tuple(e for e in suite.episodes if e.predicate == "ee_pos")
    assert build_suite(TASK, store, shipped, seed=1).digest != suite.digest


def test_a_suite_reads_back(suite: Suite, tmp_path: Path) -> None:
    suite.save(tmp_path / "suite.json")
    back = Suite.load(tmp_path / "suite.json")
    assert back == suite
    assert back.digest == suite.digest


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["episodes"][3]["goal"].__setitem__(0, 0.5),
        lambda plain: plain["questions"]["ee_pos"].__setitem__("query", "eff_pos:1.0"),
        lambda plain: plain.__setitem__("digest", "0" * 32),
        lambda plain: plain["episodes"].pop(),
    ],
)
def test_a_changed_suite_is_refused(suite: Suite, tmp_path: Path, change) -> None:
    path = tmp_path / "suite.json"
    suite.save(path)
    plain = json.loads(path.read_text())
    change(plain)
    path.write_text(json.dumps(plain))
    with pytest.raises(GoalsetsError, match="was changed after it was built: it names the digest"):
        Suite.load(path)


def test_what_is_no_suite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    for text, message in {
        "{": "suite.json is not JSON",
        "[]": "is no suite: 'goalsets suite build' writes one",
        '{"format": "goalsets-suite", "version": 9}': "version 9; this goalsets reads version 1",
    }.items():
        path.write_text(text)
        with pytest.raises(GoalsetsError, match=message):
            Suite.load(path)
    with pytest.raises(GoalsetsError, match="cannot read the suite"):
        Suite.load(tmp_path / "none.json")


def test_another_task_or_layout_is_refused(suite: Suite, run: Run) -> None:
    with pytest.raises(GoalsetsError, match="is for tabletop-single-v0; .* was trained on scene"):
        suite.check_run("scene-play-v0", LAYOUT, run.path)
    with pytest.raises(GoalsetsError, match="was built for another layout"):
        suite.check_run(TASK, TASKS["tabletop-double-v0"].layout, run.path)
    suite.check_run(TASK, run.frame.layout, run.path)


DESCRIPTIONS = {
    "predicates: {}": "a suite needs at least one predicate",
    "{}": "expected a mapping with 'predicates'",
    "[": "is not YAML",
    "predicates: {a: {query: eff_pos, wher: x}}": "unknown key 'wher': did you mean 'where'",
    "predicates: {a: {}}": "predicate 'a' needs a 'query'",
    "predicates: {a: {query: eff_pos, goals: train}}": "must be official or validation",
    "predicates: {a: {query: eff_pos, margin: -1}}": "margin of 'a' must be 0 or more",
    "predicates: {a: {query: eff_pos, goals: official, margin: 1}}": "can have no 'where'",
    "episodes: 0\npredicates: {a: {query: eff_pos}}": "'episodes' must be a whole number",
}


@pytest.mark.parametrize("text", DESCRIPTIONS)
def test_a_bad_description_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(GoalsetsError, match=DESCRIPTIONS[text]):
        read_description(path)


def test_a_suite_of_your_own(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "episodes: 1\npredicates:\n"
        "  corner: {query: eff_pos & eff_yaw, tolerances: {eff_yaw: 30deg, eff_pos: 0.2},\n"
        "           where: 'eff_pos.x > 0 & eff_pos.y > 0', margin: 1}\n"
    )
    built = build_suite(TASK, store, read_description(path))
    assert built.name == "mine"
    assert built.questions["corner"].query == "eff_pos:0.2 & eff_yaw:30deg"
    assert {e.predicate for e in built.episodes} == {"corner"}
    assert built.questions["corner"].statistics.keys() == {"eff_pos.x", "eff_pos.y"}


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (Predicate("a", "cub_pos"), "predicate 'a': unknown group 'cub_pos'"),
        (Predicate("a", "eff_pos", where="eff_pos.w > 1"), "predicate 'a': 'eff_pos' has no part"),
        (Predicate("a", "eff_pos", where="eff_pos.z > 99"), "none of 2,020 validation states"),
        (Predicate("a", "eff_pos", margin=1e6), "all of 2,020 references lie within 1e"),
    ],
)
def test_what_cannot_be_built(predicate: Predicate, message: str, store: Store) -> None:
    with pytest.raises(GoalsetsError, match=message):
        build_suite(TASK, store, Description("mine", (predicate,), episodes=1))


def test_a_description_for_another_task_is_refused(store: Store) -> None:
    with pytest.raises(GoalsetsError, match="'scene' is for scene-play-v0, not for 'tabletop"):
        build_suite(TASK, store, shipped_description("scene-play-v0"))
    with pytest.raises(GoalsetsError, match="no suite is shipped for 'my-robot'"):
        shipped_description("my-robot")


def test_unknown_predicate(suite: Suite, run: Run) -> None:
    with pytest.raises(GoalsetsError, match="unknown predicate 'ee_poss': did you mean 'ee_pos'"):
        run_suite(run, suite, only=("ee_poss",))
    with pytest.raises(GoalsetsError, match="episodes must be 1 or more, got 0"):
        suite.select(episodes=0)


@pytest.mark.full
def test_results_do_not_depend_on_workers_and_are_not_computed_twice(
    suite: Suite, run: Run
) -> None:
    only = ("cube_pos", "ee_pos")
    one = run_suite(run, suite, only=only, workers=1)
    two = run_suite(run, suite, only=only, workers=2, again=True)
    assert one["by_predicate"] == two["by_predicate"]
    assert list(one["by_predicate"]) == list(only)
    told = one["by_predicate"]["ee_pos"]
    assert told["num_episodes"] == len(told["episodes"]) == 10
    assert told["interval"][0] <= told["success"] <= told["interval"][1]
    before = len(run.evaluations())
    ran: list[int] = []
    less = run_suite(run, suite, only=only, episodes=1, watch=lambda *_: ran.append(1))
    assert not ran
    assert less["by_predicate"]["ee_pos"]["episodes"] == told["episodes"][::2]
    assert run_suite(run, suite, only=only)["by_predicate"] == one["by_predicate"]
    assert len(run.evaluations()) == before + 1  # the shorter one is a record of its own
    assert run.evaluations()[-1]["digest"] == suite.digest


@pytest.mark.full
def test_her_task_is_asked_its_own_predicate_only(
    suite: Suite, store: Store, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "task", store, scheme="her-task")
    heard: list[str] = []
    record = run_suite(run, suite, episodes=1, workers=1, say=heard.append)
    told = record["by_predicate"]
    assert told["cube_pos"]["num_episodes"] == 5
    own = Query.parse("task", run.frame.layout)
    heard_all = {
        name
        for name in told
        if not (Query.parse(told[name]["query"], run.frame.layout).mask & ~own.mask).any()
    }
    assert set(told) > heard_all >= {"cube_pos"}
    for name in set(told) - heard_all:
        assert "it answers the task's own question" in told[name]["not_asked"]
        assert "success" not in told[name]
    for name in heard_all:
        assert told[name]["num_episodes"] == 5
    assert heard == []


@pytest.mark.full
def test_other_data_is_told_of(suite: Suite, store: Store, tmp_path: Path) -> None:
    run = make_run(tmp_path / "full", store, scheme="her-full")
    (run.path / "data.json").write_text(json.dumps({**run.data, "fingerprint": "other"}))
    heard: list[str] = []
    only = ("ee_pos",)
    run_suite(Run.open(run.path), suite, only=only, episodes=1, workers=1, say=heard.append)
    assert "may not be held out from it" in heard[0]


def test_a_suite_does_not_depend_on_where_the_data_lies(suite: Suite, tmp_path: Path) -> None:
    moved = make_store(tmp_path / "elsewhere", source="the same, from another place")
    shipped = with_episodes(shipped_description(TASK), 2)
    assert build_suite(TASK, moved, shipped).digest == suite.digest
