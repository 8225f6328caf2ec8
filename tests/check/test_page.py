"""The page, the numbers and the command: complete, self-contained, and the same story."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from goalsets import GoalsetsError, Query
from goalsets.check import Check, check_run, make_question, suite_questions
from goalsets.check.page import matrix, write_json, write_page
from goalsets.cli import main
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.evaluate.distance import common_task
from goalsets.evaluate.suites import SuiteError
from goalsets.play.setup import open_setup
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run
from goalsets.train.session import train
from tests.check.conftest import LAYOUT, USUAL, episodes, make_store

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("small") / "store", episodes(30, 0), held_out=6)


@pytest.fixture(scope="module")
def found(with_distance: Run, small: Store) -> Check:
    texts = ("eff_pos", "block0_pos", "eff_pos & block0_pos", "block0_pos:0.01")
    questions = [make_question(Query.parse(text, LAYOUT), USUAL, text) for text in texts]
    return check_run(with_distance, small, questions, rate=20.0)


class Tags(HTMLParser):
    """Checks that tags close in order, and collects links."""

    void = frozenset({"meta", "path", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.links += [v for k in ("href", "src") if (v := told.get(k))]
        self.ids += [v for k in ("id",) if (v := told.get(k))]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(found: Check, tmp_path: Path) -> None:
    write_page(found, tmp_path / "check.html")
    text = (tmp_path / "check.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.links
    assert all(link.startswith("#") and link[1:] in tags.ids for link in tags.links)
    assert not re.search(r"https?://|url\(|@import", text)
    for question in found.questions:
        assert question.verdict.reason in text.replace("&#39;", "'")
    assert "20 steps a second" in text
    assert "predicted steps" in text


def test_the_numbers_are_json_that_any_reader_takes(found: Check, tmp_path: Path) -> None:
    write_json(found, tmp_path / "check.json")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    text = (tmp_path / "check.json").read_text(encoding="utf-8")
    told = json.loads(text, parse_constant=refuse)
    assert [q["verdict"]["word"] for q in told["questions"]] == [
        q.verdict.word for q in found.questions
    ]
    overall = told["questions"][0]["imitation"]["overall"]
    acts = found.questions[0].imitation
    assert acts is not None
    assert overall["learned"] == acts.overall.learned
    assert overall["skill"]["still"] == acts.overall.skill["still"]
    assert told["thresholds"]["reach"] == [0.6, 0.05]


def test_pairs_make_a_matrix_and_other_questions_none(untrained: Run, small: Store) -> None:
    texts = ("eff_pos", "eff_yaw", "eff_pos & eff_yaw")
    asked = [make_question(Query.parse(text, LAYOUT), USUAL, text) for text in texts]
    rows = matrix(check_run(untrained, small, asked))
    assert rows is not None
    assert [(name, [q.name if q else None for q in row]) for name, row in rows] == [
        ("eff_pos", ["eff_pos"]),
        ("eff_yaw", ["eff_pos & eff_yaw", "eff_yaw"]),
    ]
    assert matrix(check_run(untrained, small, asked[2:])) is None


def test_the_command_checks_one_question_in_words(
    with_distance: Run, small: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "out"
    main(
        [
            *("check", str(with_distance.path), "--query", "block0_pos", "--set"),
            *("block0_pos=3,3,3", "--data", str(small.path), "-o", str(place)),
        ]
    )
    printed = capsys.readouterr().out
    for words in (
        "no-go",
        "nearest    step",
        "error ",
        "learned ",
        "distance   rank",
        "1 question:",
    ):
        assert words in printed
    assert (place / "check.html").exists()
    assert json.loads((place / "check.json").read_text())["questions"][0]["support"]["states"] == 0
    assert not (with_distance.path / "check").exists()


def test_the_command_says_what_does_not_go_together(
    with_distance: Run, small: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["check", str(with_distance.path), "--data", str(small.path)]
    for words, told in (
        (["--goal", "bank:1"], "a goal needs a question"),
        (["--suite", "x.yaml", "--query", "eff_pos"], "a suite has its own questions"),
        (["--rate", "0"], "the rate must be above 0"),
        (["--query", "hand"], "unknown group 'hand'"),
    ):
        with pytest.raises(SystemExit):
            main([*base, *words])
        assert told in capsys.readouterr().err


def test_a_suite_gives_questions(tmp_path: Path, untrained: Run) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "predicates:\n  high: {query: block0_pos, where: block0_pos.z >= 0.6}\n"
        "  hand: {query: eff_pos, tolerances: {eff_pos: 2cm}}\n"
    )
    high, hand = suite_questions(path, LAYOUT, USUAL)
    assert (high.name, high.where is not None) == ("high", True)
    assert hand.query.terms[0].tolerance == LAYOUT.group("eff_pos").tolerance_from(2, "cm")
    with pytest.raises(SuiteError, match="cannot read the suite"):
        suite_questions(tmp_path / "none.json", LAYOUT, USUAL)


# --- Without an environment -----------------------------------------------------------------


@pytest.fixture(scope="module")
def own_log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Store]:
    """A run on a log that no task is known for."""
    place = tmp_path_factory.mktemp("own")
    store = write_store(
        place / "log", episodes(20, 0), episodes(4, 1), layout=LAYOUT, source="my robot"
    )
    config = TrainConfig(task=str(store.path), steps=2, batch_size=64, horizon=60)
    return train(config, store, place / "run"), store


def test_own_logs_are_checked_by_their_path(
    own_log: tuple[Run, Store], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", str(own_log[0].path), "--query", "eff_pos", "-o", str(tmp_path)])
    assert "1 question:" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["check", str(own_log[0].path), "--query", "eff_pos", "--goal", "task:1"])
    assert "has no official goal" in capsys.readouterr().err


def test_ask_says_what_the_data_knows_and_points_to_check(
    own_log: tuple[Run, Store], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["ask", str(own_log[0].path), "--query", "eff_pos", "--goal", "bank:3"])
    printed = capsys.readouterr().out
    assert re.search(r"support    training: \d+ of 4,020 states", printed)
    assert f'next: goalsets check {own_log[0].path} --query "eff_pos"' in printed


def test_the_others_point_to_check(
    own_log: tuple[Run, Store], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run, store = own_log
    with pytest.raises(GoalsetsError, match="'goalsets check RUN' judges it by its data"):
        open_setup([run.path])
    with pytest.raises(GoalsetsError, match="'goalsets check RUN' compares their distances"):
        common_task([run])
    for words in (["eval", str(run.path)], ["suite", "build", str(store.path), "-o", "x.json"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "goalsets check" in capsys.readouterr().err
