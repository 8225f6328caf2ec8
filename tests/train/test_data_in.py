"""Where the data lies: a run ends with the same weights, in memory and on disk."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from goalsets.core import GoalsetsError
from goalsets.data.drawing import DataIn
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.runs.config import TrainConfig
from goalsets.train.loop import StoppedError
from goalsets.train.session import Pace, prepare, train
from goalsets.train.together import train_together

TASK = "tabletop-single-v0"
SMALL_WINDOW = 12_000
"""Bytes: some of the thirty episodes, each of 61 states."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / TASK
    episodes = list(record_play(34, 60, seed=2).episodes())
    write_store(path, episodes[:30], episodes[30:], layout=tabletop_layout(1), source="play")
    return path


def config(**changes: object) -> TrainConfig:
    fields = {"task": TASK, "learner": "gcivl", "steps": 20, "batch_size": 64, "hidden": 32}
    return TrainConfig(**{**fields, **changes})  # pyright: ignore[reportArgumentType]


def weights(directory: Path, step: int = 20) -> dict[str, torch.Tensor]:
    return load_file(directory / "weights" / f"step-{step}.safetensors")


def assert_equal(left: Path, right: Path) -> None:
    for name, value in weights(left).items():
        assert torch.equal(value, weights(right)[name]), f"{name} differs"


def metrics(directory: Path) -> list[list[str]]:
    """All that was recorded but the seconds."""
    rows = [row.split(",") for row in (directory / "metrics.csv").read_text().splitlines()]
    return [row[:1] + row[2:] for row in rows]


@pytest.mark.parametrize("window_bytes", [SMALL_WINDOW, 1 << 20])
def test_weights_are_the_same(path: Path, tmp_path: Path, window_bytes: int) -> None:
    asked = config(fill="random")
    places: tuple[DataIn, ...] = ("memory", "disk")
    for place in places:
        store = Store.open(path, mapped=True)
        _, trainer = prepare(
            asked, store, tmp_path / "look", pace=Pace(), resume=True, window_bytes=window_bytes
        )
        assert trainer.sampler.source.windowed == (window_bytes == SMALL_WINDOW)
        train(
            asked,
            store,
            tmp_path / place,
            data_in=place,
            window_bytes=window_bytes,
            pace=Pace(log_every=5),
        )
    assert_equal(tmp_path / "memory", tmp_path / "disk")
    assert metrics(tmp_path / "memory") == metrics(tmp_path / "disk"), (
        "held-out ones are among them"
    )


def test_a_window_changes_what_is_drawn(path: Path, tmp_path: Path) -> None:
    """Otherwise the tests here would compare nothing."""
    store = Store.open(path, mapped=True)
    for size in (SMALL_WINDOW, 1 << 20):
        train(config(), store, tmp_path / str(size), window_bytes=size)
    left, right = weights(tmp_path / str(SMALL_WINDOW)), weights(tmp_path / str(1 << 20))
    assert any(not torch.equal(value, right[name]) for name, value in left.items())


@pytest.mark.parametrize("order", [("disk", "disk"), ("memory", "disk"), ("disk", "memory")])
def test_a_stopped_run_goes_on_in_the_same_window(
    path: Path, tmp_path: Path, order: tuple[DataIn, DataIn]
) -> None:
    """Also when its data has moved from one place to the other."""
    store = Store.open(path, mapped=True)
    train(config(), store, tmp_path / "alone", data_in="memory", window_bytes=SMALL_WINDOW)
    asked = iter([False] * 12 + [True])
    with pytest.raises(StoppedError, match="step 13"):
        train(
            config(),
            store,
            tmp_path / "stopped",
            data_in=order[0],
            window_bytes=SMALL_WINDOW,
            stop=lambda: next(asked),
        )
    train(
        config(),
        store,
        tmp_path / "stopped",
        resume=True,
        data_in=order[1],
        window_bytes=SMALL_WINDOW,
    )
    assert_equal(tmp_path / "alone", tmp_path / "stopped")


KILLED = """
import os, signal, sys
from pathlib import Path
from goalsets.data.store import Store
from goalsets.train.session import Pace, train
from tests.train.test_data_in import SMALL_WINDOW, config

steps = iter(range(1, 100))
def die():
    if next(steps) == 17:
        os.kill(os.getpid(), signal.SIGKILL)

train(config(), Store.open(sys.argv[1], mapped=True), Path(sys.argv[2]), stop=die,
      data_in="disk", window_bytes=SMALL_WINDOW, pace=Pace(checkpoint_every=7))
"""


@pytest.mark.full
def test_a_killed_run_goes_on_from_its_checkpoint(path: Path, tmp_path: Path) -> None:
    """What was drawn after the checkpoint is drawn again, from the window of that time."""
    store = Store.open(path, mapped=True)
    train(config(), store, tmp_path / "alone", data_in="disk", window_bytes=SMALL_WINDOW)
    killed = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, str(path), str(killed)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -signal.SIGKILL
    asked, seen = {"data_in": "disk", "window_bytes": SMALL_WINDOW}, Pace(checkpoint_every=7)
    _, trainer = prepare(config(), store, killed, pace=seen, resume=True, **asked)
    assert trainer.progress.step == 14
    train(config(), store, killed, resume=True, **asked)
    assert_equal(tmp_path / "alone", killed)


def test_seeds_together_draw_each_from_its_own_window(path: Path, tmp_path: Path) -> None:
    store = Store.open(path, mapped=True)
    configs = [config(seed=seed) for seed in (0, 1)]
    places: tuple[DataIn, ...] = ("memory", "disk")
    for place in places:
        train_together(
            configs,
            store,
            [tmp_path / place / str(seed) for seed in (0, 1)],
            data_in=place,
            window_bytes=SMALL_WINDOW,
        )
    for seed in ("0", "1"):
        assert_equal(tmp_path / "memory" / seed, tmp_path / "disk" / seed)


def test_other_places_are_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(GoalsetsError, match="got 'cloud'"):
        train(config(), Store.open(path), tmp_path, data_in="cloud")  # pyright: ignore[reportArgumentType]
