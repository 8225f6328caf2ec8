"""The prose linter: each rule finds a bad sentence and leaves the good one alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tools import prose, prose_text
from tools.prose_rules import MOST_WORDS, PATH, RULES, sentences

ROOT = Path(__file__).parents[2]

PAIRS = {
    "long": (
        "The table shows the success of all learners under every scheme on the tasks of the paper "
        "with the number of seeds and the intervals of all of them and the minutes that each of "
        "them took on one core beside other work.",
        "The table shows the success of all learners under every scheme. It also shows the number "
        "of seeds, the intervals and the minutes of one core.",
    ),
    "passive": (
        "Actions that were logged are compared with those that are predicted and the error is "
        "shown where it was measured.",
        "The page compares logged with predicted actions and shows the error.",
    ),
    "repeated": ("The run is is done.", "The run is done."),
    "archaic": ("The runs whereof we speak are read anew.", "We read these runs again."),
    "what-subject": (
        "What needs another order needs a chain of questions.",
        "A goal that needs another order needs a chain of questions.",
    ),
    "same-again": (
        "No cell is filled in: what is missing stays missing.",
        "Cells without a run stay empty.",
    ),
    "where-if": (
        "Where a log lacks the last state, the import drops the last action.",
        "If a log lacks the last state, the import drops the last action.",
    ),
    "whatever": (
        "The same seed gives the same bytes, whatever the number of workers.",
        "The same seed gives the same bytes for any number of workers.",
    ),
    "who-clause": (
        "An action takes 57 µs and a distance 103, and nobody pays for both who wants one.",
        "An action takes 57 µs and a distance 103 µs. You pay only for the output you ask for.",
    ),
    "of-inversion": (
        "Of several seeds, the mean gain with the wider of two intervals.",
        "The table shows the mean gain over several seeds, with the wider of two intervals.",
    ),
    "stands-inversion": (
        "Under each figure stands the command that made it.",
        "Each figure names the command that made it.",
    ),
    "whose-tangle": (
        "The scheme, two in five of whose questions there are about one of two coordinates, loses "
        "some.",
        "The scheme loses a little there: two of five of its questions ask for one coordinate.",
    ),
    "stranded": (
        "A reference whose goal set the first observation is less than 2 away from is not drawn.",
        "The suite draws a reference only if the first observation is at least 2 away from it.",
    ),
    "to-be-done": (
        "A text that cannot be read is explained and stays to be mended.",
        "If the page cannot read a text, it explains the error, and you can correct the text.",
    ),
    "double-negative": (
        "A file that is not understood is not passed on.",
        "The runtime passes on only files that it understands.",
    ),
    "person": (
        "A worker that finds another signature puts down its work.",
        "A worker that finds another signature stops.",
    ),
    "idiom": (
        "The policy learns its data by heart.",
        "The policy overfits.",
    ),
    "of-its-own": (
        "Each run has a process of its own.",
        "Each run has its own process, and records of its own kind.",
    ),
}


def found(text: str) -> set[str]:
    """The names of our rules that find something in a page."""
    results = prose.lint("page.md", prose_text.of_markdown(text))
    paths = [result.check_result.check_path for result in results]
    return {path.removeprefix(f"{PATH}.") for path in paths}


def test_every_rule_has_a_pair() -> None:
    assert list(PAIRS) == [rule.name for rule in RULES]


@pytest.mark.parametrize("name", PAIRS)
def test_a_rule_finds_the_bad_sentence_and_not_the_good_one(name: str) -> None:
    bad, good = PAIRS[name]
    assert name in found(bad)
    assert not found(good)
    # Sentences also break over lines, in lists and in tables.
    assert name in found("Fine.\n\n- Good. " + bad.replace(" ", "\n  "))
    assert name in found(f"| a | b |\n|---|---|\n| {bad} | fine |\n")


def test_the_sentences_of_the_style_page_are_found() -> None:
    page = (ROOT / "docs/style.md").read_text(encoding="utf-8")
    table = page.partition("<!-- prose: off -->")[2].partition("<!-- prose: on -->")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 10
    assert sum(bool(found(before.lstrip("| "))) for before, _ in rows) >= 9
    assert not any(found(after.rstrip("| ")) for _, after in rows)


def test_only_prose_is_read() -> None:
    bad = "What is missing stays missing."
    page = f"""\
# What it is

Read `whatever`, [this](whatever.md) and <https://whatever.org>.

```text
{bad}
```

    {bad}

<!-- results: table -->
{bad}
<!-- end -->

<!-- {bad} -->

<!-- prose: off -->
{bad}
<!-- prose: on -->

**What fails.** Nothing.
"""
    assert not found(page)
    assert found(page.replace("Nothing.", bad)) == {"what-subject", "same-again"}


def test_a_finding_names_line_and_column() -> None:
    text = "# Title\n\nThis is fine. Do it whichever way.\n"
    (result,) = prose.lint("page.md", prose_text.of_markdown(text))
    line, column = result.pos
    assert text.splitlines()[line - 1][column - 1 :].startswith("whichever")


def test_the_command_names_the_place_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.md").write_text("This is fine.\n")
    (tmp_path / "bad.md").write_text("Fine.\n\nDo it whichever way.\n")
    monkeypatch.setattr("sys.argv", ["prose", str(tmp_path / "good.md")])
    prose.main()
    assert not capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["prose", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"1 sentences.*docs/style\.md"):
        prose.main()
    assert "bad.md:3:7: Write 'any'" in capsys.readouterr().out


def test_docstrings_and_comments_are_read_and_code_is_not(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('''"""Fine.

    whatever = code()
"""

# Do it whatever this is.
WHATEVER = "whatever"  # noqa: whatever


def whatever():
    """Do it whatever comes.

    Args:
        whatever: A name.
    """
''')
    lines = [result.pos[0] for result in prose.lint("module.py", prose_text.prose(path))]
    assert lines == [6, 11]


def test_the_text_of_a_notebook_is_read(tmp_path: Path) -> None:
    path = tmp_path / "book.ipynb"
    cells = [
        {"cell_type": "code", "source": ["whatever = 1"]},
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "Do whatever you like."]},
    ]
    path.write_text(json.dumps({"cells": cells}))
    assert len(prose.lint("book.ipynb", prose_text.prose(path))) == 1


def test_sentences_end_at_full_stops_gaps_and_empty_lines() -> None:
    text = "One 1.5, e.g. this. Two\n\nthree\x1ffour"
    assert [sentence for _, sentence in sentences(text)] == [
        "One 1.5, e.g. this.",
        "Two",
        "three",
        "four",
    ]
    assert all(text[start:].startswith(sentence) for start, sentence in sentences(text))


def test_a_sentence_may_have_as_many_words_as_we_say() -> None:
    words = [f"word{'abc'[i % 3]}" for i in range(MOST_WORDS + 1)]
    assert not found(" ".join(words[1:]) + ".")
    assert found(" ".join(words) + ".") == {"long"}


def test_our_pages_are_in_plain_english() -> None:
    paths = list(prose.files([]))
    assert {"README.md", "style.md", "the-idea.ipynb", "task.py"} <= {path.name for path in paths}
    problems = [
        f"{path}:{result.pos[0]}: {result.check_result.message}"
        for path in paths
        for result in prose.lint(str(path), prose_text.prose(path))
    ]
    assert not problems, "\n".join(problems)


def test_rules_say_what_to_write() -> None:
    for rule in RULES:
        assert re.search(r"write|say|begin|delete|name", rule.message, re.IGNORECASE), rule.name
