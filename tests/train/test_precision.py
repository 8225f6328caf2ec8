"""Training in bfloat16: weights stay in float32, and machines that cannot are told so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from goalsets import GoalsetsError
from goalsets.learners import LEARNERS
from goalsets.nets import MLP, Scalar, compute_in
from goalsets.train import precision
from goalsets.train.precision import check_precision
from tests.train.test_loop import assert_equal, config, make_trainer, weights


@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_weights_stay_in_float32_and_follow_those_of_float32(learner: str) -> None:
    exact = make_trainer(config(learner=learner), None)
    rough = make_trainer(config(learner=learner, precision="bfloat16"), None)
    start = weights(exact)
    exact.run()
    rough.run()
    moved = apart = 0.0
    for name, value in weights(rough).items():
        if value.is_floating_point():
            assert value.dtype == torch.float32, name
            moved += float((weights(exact)[name] - start[name]).square().sum())
            apart += float((weights(exact)[name] - value).square().sum())
    assert 0 < apart < 0.5 * moved  # it was another computation, and led to about the same


def test_a_killed_run_ends_as_one_that_was_left_alone(tmp_path: Path) -> None:
    choice = config(precision="bfloat16")
    for name in ("alone", "killed"):
        (tmp_path / name).mkdir()
    alone = make_trainer(choice, tmp_path / "alone")
    alone.run()
    make_trainer(choice, tmp_path / "killed").run(until=11)
    resumed = make_trainer(choice, tmp_path / "killed")
    resumed.run()
    assert_equal(weights(alone), weights(resumed))


def test_answers_keep_their_digits() -> None:
    torch.manual_seed(0)
    value = Scalar(4, 6, bias=-60.0)
    compute_in(value, torch.bfloat16)
    assert all(each.dtype == torch.bfloat16 for each in value.modules() if isinstance(each, MLP))
    found = value(torch.randn(64, 4), torch.randn(64, 6))
    assert found.dtype == torch.float32
    # In bfloat16, numbers near 60 are 0.25 apart.
    assert not torch.equal(found, found.bfloat16().float())


def test_float32_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_speedup", lambda _: pytest.fail("a probe was started"))
    check_precision("float32", "cpu")


def test_a_machine_without_instructions_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(precision, "_speedup", lambda _: 0.4)
    check_precision("bfloat16", "cpu", said.append)
    assert "0.4 times as fast as float32" in said[0]


@pytest.mark.parametrize(
    ("probe", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "ended by signal 4"),
        ("raise SystemExit('a product gives 3')", "a product gives 3"),
    ],
)
def test_a_probe_that_fails_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, probe: str, reason: str
) -> None:
    precision._speedup.cache_clear()
    monkeypatch.setattr(precision, "_PROBE", probe)
    with pytest.raises(GoalsetsError, match=f"{reason}\\). Use precision float32"):
        check_precision("bfloat16", "cpu")


def test_a_probe_that_hangs_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("probe", 1)

    precision._speedup.cache_clear()
    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(GoalsetsError, match="timed out"):
        check_precision("bfloat16", "cpu")


def test_the_probe_itself() -> None:
    precision._speedup.cache_clear()
    try:
        assert precision._speedup("cpu") > 0
    except GoalsetsError as error:
        pytest.skip(f"no bfloat16 here: {error}")
