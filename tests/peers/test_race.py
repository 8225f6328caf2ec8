"""The race of `benchmarks.peers`: a fake contestant, a fake clock, a judge that counts steps."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import peers, peers_entries
from benchmarks.peers_entries import ENTRIES, TASKS, Entry, absent, chosen
from benchmarks.peers_race import AT_ONCE, BY_CHAIN, OfficialJudge, Race, add_record, marks
from benchmarks.peers_theirs import FixedQuestion, compact
from benchmarks.released import source
from goalsets.campaign.peers import read_records
from goalsets.core import GoalsetsError
from goalsets.data.trajectories import Trajectories
from goalsets.envs import tasks
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.evaluate.rollout import EpisodeSpec
from goalsets.report.published import published_scores

TABLETOP = "tabletop-single-v0"


class Fake:
    """Learns a little with each step. A step takes a second of its clock, and judging takes 100."""

    def __init__(self, last: int | None = None, ways: tuple[str, ...] = (AT_ONCE,)) -> None:
        self.now, self.steps, self.last, self.ways = 0.0, 0, last, ways

    def clock(self) -> float:
        return self.now

    def prepare(self) -> None:
        self.now += 3.0

    def step(self) -> bool:
        if self.steps == self.last:
            return False
        self.now += 1.0
        self.steps += 1
        return True

    def policies(self) -> Mapping[str, Any]:
        return {way: (self, way) for way in self.ways}


def judge(policy: Any) -> dict[str, Any]:
    fake, way = policy
    fake.now += 100.0
    rate = 0.01 if way == AT_ONCE else 0.02
    return {"success": min(1.0, rate * fake.steps), "num_episodes": 50, "by_goal": {}}


def run(fake: Fake, budget: float) -> dict[str, Any]:
    return Race(fake, judge, budget, say=lambda _: None, clock=fake.clock).run()


def test_evaluations_come_after_each_quarter_and_at_the_budget() -> None:
    found = list(marks(60.0))
    assert found[0] == 5.0
    assert found[-1] == 60.0
    assert all(later <= 1.4 * mark for mark, later in itertools.pairwise(found))
    assert list(marks(2.0)) == [2.0]


def test_only_preparation_and_steps_count() -> None:
    fake = Fake()
    found = run(fake, 30.0)
    assert found["prepared_seconds"] == 3.0
    assert found["ended"] == "budget"
    last = found["curve"][-1]
    assert last["seconds"] == 30.0, "judging takes 100 seconds each time, and is not counted"
    assert last["step"] == 27 == fake.steps
    assert last["asked"][AT_ONCE]["success"] == pytest.approx(0.27)
    assert [each["seconds"] for each in found["curve"]] == [5, 7, 8, 10, 13, 16, 20, 24, 30]


def test_it_ends_at_the_last_step_of_a_schedule() -> None:
    found = run(Fake(last=10), 1_000.0)
    assert found["ended"] == "last step"
    assert found["curve"][-1]["step"] == 10


def test_it_ends_when_every_way_has_reached_the_highest_level() -> None:
    found = run(Fake(ways=(AT_ONCE, BY_CHAIN)), 10_000.0)
    assert found["ended"] == "highest level"
    assert found["curve"][-1]["asked"][AT_ONCE]["success"] >= 0.95
    assert found["curve"][-2]["asked"][AT_ONCE]["success"] < 0.95
    assert run(Fake(ways=(BY_CHAIN,)), 10_000.0)["curve"][-1]["step"] < 70


def test_a_preparation_that_takes_the_whole_budget_is_judged_without_a_step() -> None:
    (only,) = run(Fake(), 2.0)["curve"]
    assert only["step"] == 0
    assert only["seconds"] == 3.0


def test_records_are_appended_a_line_each(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "task.jsonl"
    for seed in range(3):
        add_record(file, {"seed": seed, "curve": [{}]})
    file.write_text(file.read_text() + '{"torn": ')
    assert [record["seed"] for record in read_records(file.parent)] == [0, 1, 2]


def test_a_peers_agent_is_judged_on_the_official_episodes() -> None:
    official = OfficialJudge(TABLETOP, 2)
    assert len(official.specs) == 2 * len(tasks.TASKS[TABLETOP].goals)
    assert all(isinstance(spec, EpisodeSpec) and spec.goal is None for spec in official.specs)
    seen: list[tuple[int, int]] = []

    def act(observation: np.ndarray, goal: np.ndarray) -> np.ndarray:
        seen.append((len(observation), len(goal)))
        return np.zeros(5, np.float32)

    layout = tasks.TASKS[TABLETOP].layout
    found = official(FixedQuestion(layout, act))
    assert found["num_episodes"] == len(official.specs)
    assert found["success"] < 0.5, "it stands still"
    assert set(seen) == {(layout.dim, layout.dim)}
    with pytest.raises(GoalsetsError, match="asked for actions only"):
        FixedQuestion(layout, act).distance(0, 0, "all")


def test_peers_read_our_data_in_their_own_form() -> None:
    data = Trajectories.from_episodes(list(record_play(3, 10, seed=0).episodes()))
    rows = compact(data)
    assert rows["valids"].tolist() == ([1.0] * 10 + [0.0]) * 3
    assert rows["terminals"].tolist() == ([0.0] * 9 + [1.0, 1.0]) * 3
    assert np.array_equal(rows["observations"], data.observations)
    theirs = source(data, {"max_task_length": 7})
    assert theirs.states.shape == (3, 11, tabletop_layout(1).dim)
    assert theirs.actions.shape[:2] == (3, 10)
    assert np.array_equal(theirs.actions[1], data.actions[11:21])
    ragged = [data.episode(0), *record_play(1, 5, seed=0).episodes()]
    with pytest.raises(GoalsetsError, match="episodes of one length only"):
        source(Trajectories.from_episodes(ragged), {})


def test_the_released_learners_are_the_strongest_of_the_papers_table() -> None:
    for task in TASKS:
        ours, *others = chosen([task], [])
        assert ours.kind == "ours"
        first = next(entry for entry in others if entry.kind == "released")
        best = max(s.mean for (_, its, _), s in published_scores().items() if its == task)
        scheme = first.settings["scheme"]
        assert published_scores()[first.learner, task, scheme].mean == best
        assert len({entry.name for entry in chosen([task], [])}) == 1 + len(others)
    assert [entry.kind for entry in chosen([], ["ours*"])] == ["ours"] * len(TASKS)


def test_a_peer_that_is_not_here_is_named_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GOALSETS_RELEASED", raising=False)
    monkeypatch.setenv("GOALSETS_OGBENCH_IMPLS", str(tmp_path))
    assert absent("ours") is None
    assert absent("released") == (
        "GOALSETS_RELEASED is not set, so the paper's released code does not take part."
    )
    assert "no directory 'agents'" in str(absent("ogbench"))
    (tmp_path / "agents").mkdir()
    assert absent("ogbench") is None
    assert peers_entries.code_of("ours") is None
    assert len(peers_entries.code_of("ogbench") or "") == 8


class Store:
    fingerprint = "abc"
    train = Trajectories.from_episodes(list(record_play(2, 5, seed=0).episodes()))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Contestants that were run; each finished one has a record, as a process of its own writes."""
    started: list[str] = []
    monkeypatch.delenv("GOALSETS_RELEASED", raising=False)
    monkeypatch.delenv("GOALSETS_OGBENCH_IMPLS", raising=False)
    monkeypatch.setattr("goalsets.collect.find.find_store", lambda task: Store)

    def run_apart(entry: Entry, asked: Any) -> bool:
        started.append(entry.task)
        if entry.task == "cube-double-play-v0":
            return False
        found = run(Fake(last=10), peers._budget(entry, asked))
        add_record(peers._file(entry, asked), {**peers.about(entry, asked), **found})
        return True

    monkeypatch.setattr(peers, "_run_apart", run_apart)
    return started


def test_what_is_recorded_is_not_run_again(
    started: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--output", str(tmp_path), "--minutes", "0.1"]
    assert peers.main(words) == 1, "one contestant failed"
    assert started == list(TASKS)
    said = capsys.readouterr().out
    assert said.count("GOALSETS_RELEASED is not set") == 1
    assert "ours gcbc gs-direct on cube-double-play-v0 failed: see the error above." in said
    assert "| cube-single-noisy-v0 | ours: GCBC, gs-blockwise, at once |" in said
    assert peers.main(words) == 1
    assert started[3:] == ["cube-double-play-v0"], "only the one without a record"
    assert peers.main([*words, "--seed", "1", TASKS[0]]) == 0
    assert peers.main(["--output", str(tmp_path), "--minutes", "9", TASKS[0]]) == 0
    assert started[4:] == [TASKS[0]] * 2, (
        "another seed, and a larger budget than the one it used up"
    )
    peers.main(["--output", str(tmp_path), "--list"])
    said = capsys.readouterr().out
    assert "recorded" in said
    assert "to run: up to" in said
    assert started[6:] == []


def test_the_record_says_what_was_measured(started: list[str], tmp_path: Path) -> None:
    peers.main(["--output", str(tmp_path), "--minutes", "1", TASKS[2]])
    (line,) = (tmp_path / f"{TASKS[2]}.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record["data"] == {"fingerprint": "abc", "episodes": 2}
    assert record["settings"] == dict(ENTRIES[9].settings)
    assert record["settings_from"] == "results/hour/point.yaml: the preset hour"
    assert record["budget_seconds"] == 60.0
    assert str(Path.home()) not in line


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        peers.main(["--help"])
    said = capsys.readouterr().out
    for word in ("GOALSETS_RELEASED", "goalsets data collect", "--core", "released gcdl"):
        assert word in said
    assert "--child" not in said
    with pytest.raises(SystemExit):
        peers.main(["scene-play-v0"])
    assert "there is no comparison on 'scene-play-v0'" in capsys.readouterr().err
