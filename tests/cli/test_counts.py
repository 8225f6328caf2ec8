"""Counts that are too small are refused by the option itself, before anything is done."""

from __future__ import annotations

import pytest

from goalsets.cli import main


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("eval demo", "--workers"),
        ("eval demo", "--episodes"),
        ("eval demo", "--last"),
        ("train tabletop-single-v0", "--checkpoint-every"),
        ("train tabletop-single-v0", "--batch-size"),
        ("train tabletop-single-v0", "--steps"),
        ("train tabletop-single-v0", "--threads"),
        ("data collect cube-single-noisy-v0", "--workers"),
        ("data collect cube-single-noisy-v0", "--episodes"),
        ("suite run demo --suite suite.json", "--workers"),
        ("sweep cpu-smoke", "--threads"),
        ("sweep cpu-smoke", "--processes"),
        ("distance demo", "--attempts"),
    ],
)
@pytest.mark.parametrize(("count", "expected"), [("0", "1 or more"), ("-3", "1 or more")])
def test_too_small(
    command: str, option: str, count: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command.split(), option, count])
    assert end.value.code == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"Error parsing {option}: expected {expected}, got {count}" in told


def test_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["eval", "demo", "--workers", "many"])
    assert "Error parsing --workers: expected a whole number, got 'many'" in capsys.readouterr().err


def test_zero_is_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "no-such-run", "--seed", "-1"])
    assert "expected 0 or more, got -1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["plan", "no-such-run", "--seed", "0"])
    assert "--seed" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["serve", "play"])
def test_a_port_that_there_is_not(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The system would take it modulo 65,536: a server would listen on a port nobody named."""
    with pytest.raises(SystemExit):
        main([command, "no-such-run", "--port", "70000"])
    assert "Error parsing --port: expected 65535 or less, got 70000" in capsys.readouterr().err
