"""Accelerators are handed out one to a run; none is needed to see that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from goalsets.cli import main
from goalsets.sweep import local
from goalsets.sweep.devices import VISIBLE, accelerators
from goalsets.sweep.drive import run_sweep
from goalsets.sweep.grid import SweepError
from goalsets.sweep.local import LocalEngine
from tests.sweep import noop
from tests.sweep.conftest import small
from tests.sweep.driving import where


@pytest.mark.parametrize(
    ("shown", "count", "names"),
    [
        ("", 3, ("0", "1", "2")),
        ("2, 5", 2, ("2", "5")),
        ("GPU-1f,GPU-2e,-1", 2, ("GPU-1f", "GPU-2e")),
    ],
)
def test_accelerators_go_by_the_names_that_we_were_shown(
    shown: str, count: int, names: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VISIBLE, shown)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    assert accelerators("cuda") == names
    assert accelerators("cpu") == ()


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(SweepError, match="finds no 'cuda' device here"):
        LocalEngine(device="cuda")
    with pytest.raises(SystemExit):
        main(["sweep", "cpu-smoke", "-o", str(tmp_path / "sweep"), "--device", "cuda"])
    assert not (tmp_path / "sweep").exists()


@pytest.mark.full
@pytest.mark.timeout(600)
def test_each_run_sees_one_accelerator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "accelerators", lambda device: ("4", "7"))
    sweep = small(seeds=(0, 1, 2, 3))
    engine = LocalEngine(device="cuda", do=noop.where)
    assert engine.slots == 2
    assert run_sweep(sweep, tmp_path / "two", engine).complete
    assert set(where(tmp_path / "two", sweep)) == {"cuda 4", "cuda 7"}
    # Where more are asked for they share, evenly.
    more = LocalEngine(processes=4, device="cuda", do=noop.where)
    assert run_sweep(sweep, tmp_path / "four", more).complete
    seen = where(tmp_path / "four", sweep)
    assert {"cuda 4", "cuda 7"} == set(seen)
