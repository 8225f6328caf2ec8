"""The code in README and docs runs, and prints what the page says it prints.

A `python` block is executed; blocks of one page share their names. A `text` block right after
it is its output. A `console` block is checked line by line: after `$ ` a command of ours, then its
output. Blocks marked with an HTML comment `<!-- skip: reason -->` before them are left alone.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from goalsets.cli import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
_BLOCK = re.compile(
    r"(?P<skip><!-- skip: [^\n]*-->\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    body: str
    skipped: bool
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["kind"], found["body"], bool(found["skip"]), text.count("\n", 0, found.start()))
        for found in _BLOCK.finditer(text)
    ]


def same(left: str, right: str) -> bool:
    """Equal but for space at the ends of lines and empty lines, which tables pad differently."""
    lines = [[x.rstrip() for x in text.splitlines() if x.strip()] for text in (left, right)]
    return lines[0] == lines[1]


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    names: dict[str, object] = {"__name__": "__main__"}
    found = blocks(page)
    for block, following in itertools.zip_longest(found, found[1:]):
        if block.skipped:
            continue
        if block.kind == "python":
            printed = io.StringIO()
            code = compile("\n" * block.line + block.body, str(page), "exec")
            with contextlib.redirect_stdout(printed):
                exec(code, names)
            if following is not None and following.kind == "text":
                compare(page, following.body, printed.getvalue())
        elif block.kind == "console":
            check_console(page, block.body)


def check_console(page: Path, body: str) -> None:
    """Run each `$ goalsets …` line and compare what it prints with the lines below it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        program, *args = shlex.split(command, comments=True)
        if program != "goalsets":
            continue
        printed, code = io.StringIO(), None
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                main(args)
            except SystemExit as end:  # help ends so, and errors, which a page may show
                code = end.code
        if expected.strip():
            compare(page, expected, printed.getvalue())
        else:
            assert not code, f"{page.name}: {command}\n{printed.getvalue()}"


def compare(page: Path, expected: str, printed: str) -> None:
    """Hold a page to what its code prints, or take that over with UPDATE_SNAPSHOTS=1."""
    if os.environ.get("UPDATE_SNAPSHOTS") and not same(printed, expected):
        text = page.read_text(encoding="utf-8")
        tidy = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines()) + "\n"
        assert text.count(expected) == 1, "the expected text is not unique: change it by hand"
        page.write_text(text.replace(expected, tidy), encoding="utf-8")
        return
    assert same(printed, expected), printed


def test_there_are_pages() -> None:
    assert sum(len(blocks(page)) for page in PAGES) > 5
