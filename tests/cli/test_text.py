"""What the command line prints in our own words, pinned: explanations, and errors that help.

A deliberate change is taken over with `UPDATE_SNAPSHOTS=1 make test`, and read in the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from goalsets.cli import main

SNAPSHOTS = Path(__file__).parent / "snapshots"

COMMANDS = {
    "query-pose": "query|eff_pos & eff_yaw:20deg|--task|cube-single-noisy-v0",
    "query-part": "query|task & [3]:0.1|--task|scene-play-v0",
    "query-json": "query|cube_pos:3cm|--json",
    "tasks": "tasks",
    "tasks-show": "tasks show antmaze-medium-navigate-v0",
    "tasks-show-objects": "tasks show cube-double-play-v0",
}
ERRORS = {
    "error-unknown-group": "query|cub_pos",
    "error-syntax": "query|eff_pos & & eff_yaw",
    "error-tolerance": "query|eff_pos:20deg",
    "error-index": "query|[28]",
    "error-empty": "query|none",
    "error-task": "query|all|--task|cube-singel-noisy-v0",
    "error-task-family": "tasks|show|cube",
    "error-task-far": "tasks|show|zebra",
    "error-layout-file": "query|all|--layout|no-such-file.yaml",
    "error-data-file": "data|import|npz|no-such-file.npz",
    "error-data-store": "data|inspect|no-such-store",
    "error-data-task": "data|collect|cube-singel-noisy-v0",
    "error-train-task": "train|cube-singel-noisy-v0",
    "error-train-data": "train|scene-play-v0|--data|no-such-store",
    "error-train-learner": "train|tabletop-single-v0|--learner|gciq",
    "error-train-scheme": "train|tabletop-single-v0|--scheme|gs-blockwize",
    "error-train-preset": "train|tabletop-single-v0|--preset|gpu",
    "error-train-setting": "train|tabletop-single-v0|--set|alpha",
    "error-eval": "eval|no-such-run",
    "error-export": "export|no-such-run",
    "error-landscape": "landscape|no-such-run",
    "error-landscape-demo": "landscape|demo",
    "error-plan-run": "plan|no-such-run",
    "error-plan-data": "eval|demo|--data|no-such-store",
    "error-play-run": "play|no-such-run|--port|0",
    "error-play-runs": "play|demo|demo|demo|--port|0",
    "error-serve-run": "serve|no-such-run|--port|0",
    "error-serve-token": "serve|no-such-run|--host|0.0.0.0",
    "error-suite-task": "suite|build|cube-singel-noisy-v0|-o|suite.json",
    "error-suite-file": "suite|run|no-such-run|--suite|no-such-suite.json",
    "error-sweep": "sweep|paper-mian",
    "error-sweep-status": "sweep|status|no-such-sweep",
    "error-sweep-address": "sweep|cpu-smoke|--address|auto",
    "error-run": "ask|no-such-run",
    "error-report": "report|no-such-runs",
    "error-picture": "tasks|show|tabletop-single-v0|--picture|x.gif",
    "error-command": "tran|cube-single-noisy-v0",
    "error-command-data": "data|improt|csv|logs",
    "error-command-source": "data|import|parqet|logs",
    "error-both": "query|all|--layout|x.yaml|--task|scene-play-v0",
}


def words(command: str) -> list[str]:
    return command.split("|" if "|" in command else " ")


def check_snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


@pytest.fixture(autouse=True)
def _fixed_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")


@pytest.mark.parametrize("name", COMMANDS)
def test_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(words(COMMANDS[name]))
    check_snapshot(name, capsys.readouterr().out)


@pytest.mark.parametrize("name", ERRORS)
def test_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words(ERRORS[name]))
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    check_snapshot(name, printed.err)


def test_ctrl_c_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("goalsets.cli._run_words", interrupted)
    with pytest.raises(SystemExit) as end:
        main(["tasks"])
    assert end.value.code == 130
    assert capsys.readouterr().err == "stopped by Ctrl-C\n"
