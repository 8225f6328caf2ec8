"""Evaluations that fail while a policy is trained: said at the time, and again at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from goalsets.cli import main
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.evaluate.alongside import Alongside
from goalsets.runs.run import Run

TASK = "tabletop-single-v0"


def stand_in(path: Path, *lines: str) -> str:
    """A program in place of Python, so that what evaluates does as a test wants."""
    path.write_text("\n".join(("#!/bin/sh", *lines)) + "\n")
    path.chmod(0o755)
    return str(path)


def train(tmp_path: Path, evaluate: str) -> Run:
    store = write_store(
        tmp_path / "store", record_play(6, 40, seed=0).episodes(), layout=tabletop_layout(1)
    )
    size = ["--steps", "8", "--keep-every", "4", "--batch-size", "16", "--hidden", "16"]
    where = ["--data", str(store.path), "--output", str(tmp_path / "run"), "--threads", "1"]
    main(["train", TASK, *size, *where, "--evaluate", evaluate])
    return Run.open(tmp_path / "run")


def test_training_says_what_failed_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = ("echo opening the simulator", "echo 'error: it has no display.' >&2", "exit 1")
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path / "python", *broken))
    run = train(tmp_path, "alongside")
    out, errors = capfd.readouterr()
    for step in (4, 8):
        assert errors.count(f"the evaluation of step {step} failed: it has no display.\n") == 1
    assert "2 evaluations failed, at step 4, 8: it has no display.\n" in errors
    assert f"Their full output is in {run.path / 'evaluations.log'}." in errors
    assert f"to try again, run goalsets eval {run.path} --step 8." in errors
    assert f"next: goalsets eval {run.path}, or goalsets check {run.path}" in out
    assert "actions within -1 to 1, from the action space.\n" in errors
    # A failure says nothing of later ones.
    silent = Alongside(run, episodes=1, workers=1)
    for step, line in ((4, "kill -9 $$"), (8, "exit 3")):
        monkeypatch.setattr(sys, "executable", stand_in(tmp_path / "python", line))
        silent.add(step)
        assert silent.wait(30)
    reasons = [(failure.step, failure.reason) for failure in silent.failures]
    assert reasons == [(4, "signal 9 ended it"), (8, "it ended with code 3")]


def test_nothing_is_said_where_nothing_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", stand_in(tmp_path / "python", "echo fine"))
    train(tmp_path, "afterwards")
    assert "failed" not in capfd.readouterr().err
