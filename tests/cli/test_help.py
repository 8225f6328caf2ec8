"""Help: each command tells every option that it takes, in the words of its own docstring.

How a line is broken is the library's affair, so texts are compared without their line breaks.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import goalsets
from goalsets import cli
from goalsets.cli.overview import GROUPS as HEADINGS
from goalsets.cli.sweep_status import status
from goalsets.cli.tasks import check, show
from goalsets.data.sources import SOURCES

GROUPS = {"data": cli._data_verbs(), "suite": cli._suite_verbs()}
COMMANDS: dict[str, Callable[..., Any]] = {
    **{verb: function for verb, function in cli._verbs().items() if verb not in GROUPS},
    **{f"{group} {verb}": f for group, verbs in GROUPS.items() for verb, f in verbs.items()},
    "tasks show": show,
    "tasks check": check,
    "sweep status": status,
    **{f"data import {name}": source for name, source in SOURCES.items()},
}


@pytest.fixture
def ask_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """What a command prints when it is asked for help, in one line."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")

    def ask(command: str) -> str:
        with pytest.raises(SystemExit) as stop:
            cli.main([*command.split(), "--help"])
        assert stop.value.code == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return joined(printed.out)

    return ask


def joined(text: str) -> str:
    return " ".join(text.split())


def purpose(function: Callable[..., Any]) -> str:
    """The docstring above its sections, which start with a word and a colon alone on a line."""
    return joined(re.split(r"^\w+:$", inspect.getdoc(function) or "", flags=re.MULTILINE)[0])


def described(function: Callable[..., Any]) -> dict[str, str]:
    """Each argument with what the docstring says of it."""
    section = (inspect.getdoc(function) or "").partition("\nArgs:\n")[2]
    parts = re.split(r"^(\w+): ", textwrap.dedent(section), flags=re.MULTILINE)[1:]
    return {name: joined(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def described_fields(kind: type) -> dict[str, str]:
    """Each field of a dataclass that one may set, with the docstring under it; some inherited."""
    told = {}
    for owner in filter(dataclasses.is_dataclass, reversed(kind.__mro__)):
        tree = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for line, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(line, ast.AnnAssign) and isinstance(below, ast.Expr):
                told[ast.unparse(line.target)] = joined(ast.literal_eval(below.value))
    return {f.name: told.get(f.name, "") for f in dataclasses.fields(kind) if f.init}


def options(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """The names of all options, and what is said of each; no name where it is but a heading."""
    kinds = typing.get_type_hints(function)
    told = described_fields(function) if isinstance(function, type) else described(function)
    names = told if isinstance(function, type) else inspect.signature(function).parameters
    for name in names:
        says, kind = told.get(name, ""), kinds[name]
        assert says, f"{function.__name__} does not say what {name} is"
        # One may set the fields of a dataclass; of several dataclasses, one chooses first.
        if any(map(dataclasses.is_dataclass, (kind, *typing.get_args(kind)))):
            yield "", says
            if isinstance(kind, type):
                yield from options(kind)
        else:
            yield name, says


@pytest.mark.parametrize("command", COMMANDS)
def test_help_tells_every_option_in_the_words_of_its_docstring(
    command: str, ask_help: Callable[[str], str]
) -> None:
    function, text = COMMANDS[command], ask_help(command)
    assert purpose(function), "it does not say what it is for"
    assert purpose(function) in text
    for name, says in options(function):
        # An option, a switch that is on, or a place by itself; then what it takes, and what it is.
        flag = rf"(--(no-)?{name.replace('_', '-')}|\b{name.upper()}\b)" if name else ""
        assert re.search(rf"{flag}.{{0,60}} {re.escape(says)}", text), f"no {name}: {says}"


def test_help_does_not_break_lines_as_the_source_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    # In the docstring, a line ends after "directory".
    assert "directory of a store of your own." in capsys.readouterr().out


@pytest.mark.parametrize("group", GROUPS)
def test_help_lists_every_command_with_what_it_is_for(
    group: str, ask_help: Callable[[str], str]
) -> None:
    text = ask_help(group)
    verbs = GROUPS[group]
    assert f"{{{','.join(verbs)}}}" in text
    for verb, function in verbs.items():
        assert f"• {verb} {purpose(function)}" in text


def test_help_groups_the_commands_by_what_people_want_to_do(ask_help: Callable[[str], str]) -> None:
    text, verbs = ask_help(""), cli._verbs()
    named = [verb for names in HEADINGS.values() for verb in names]
    assert sorted(named) == sorted(verbs), "each command has one heading"
    for heading, names in HEADINGS.items():
        first = " ".join(f"{name} {summary(verbs[name])}" for name in names)
        assert f"{heading}: {first}" in text
    assert "--version Show the version." in text
    assert "--plugin" in text


def summary(function: Callable[..., Any]) -> str:
    return joined((inspect.getdoc(function) or "").partition("\n\n")[0])


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--version"])
    assert capsys.readouterr().out == f"goalsets {goalsets.__version__}\n"
    assert importlib.metadata.version("goalsets") == goalsets.__version__


def test_help_of_an_import_lists_the_sources(ask_help: Callable[[str], str]) -> None:
    text = ask_help("data import")
    for name, source in SOURCES.items():
        assert f"• {name} {purpose(source)}" in text


@pytest.mark.full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["sweep", "--help"], ["--help"]])
def test_a_reader_may_leave_early(words: list[str], unbuffered: str) -> None:
    """As `| head -3` does: the rest is lost on nobody, and nobody is told of it."""
    command = [sys.executable, "-m", "goalsets", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, env=env, **pipes) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")
