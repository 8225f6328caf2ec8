"""Pictures of tasks: drawn without a display, and a clear word where that cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from goalsets import cli
from goalsets.core import GoalsetsError
from goalsets.envs.graphics import choose_backend
from goalsets.envs.ogbench import ManipulationAdapter
from goalsets.envs.picture import draw
from goalsets.envs.tasks import TASKS


def without_graphics(monkeypatch: pytest.MonkeyPatch) -> None:
    def render(*_: object) -> Any:
        raise RuntimeError("no EGL device")

    monkeypatch.setattr(ManipulationAdapter, "render", render)


def test_tabletop_needs_no_graphics() -> None:
    picture = draw(TASKS["tabletop-single-v0"], 64)
    assert picture.shape == (96, 64, 3)
    assert picture.std() > 10


def test_missing_graphics_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    without_graphics(monkeypatch)
    monkeypatch.setenv("MUJOCO_GL", "egl")
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with pytest.raises(GoalsetsError, match=r"MUJOCO_GL=egl \(no EGL device\).*OSMesa"):
        draw(TASKS["cube-single-play-v0"])
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others have a display")
def test_a_plugin_may_import_mujoco_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not too late for environments of Gymnasium, which look when they first draw."""
    # A stand-in: MuJoCo itself, imported now, would draw with the wrong library in later tests.
    monkeypatch.setitem(sys.modules, "mujoco", ModuleType("mujoco"))
    for name in ("DISPLAY", "MUJOCO_GL"):
        monkeypatch.setenv(name, "")  # so that what is there now comes back afterwards
        monkeypatch.delenv(name)
    choose_backend()
    assert os.environ["MUJOCO_GL"] == "egl"


def test_picture_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tabletop.png"
    cli.main(["tasks", "show", "tabletop-double-v0", "--picture", str(path)])
    assert f"drew {path}" in capsys.readouterr().out
    assert path.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(SystemExit):
        cli.main(
            ["tasks", "show", "tabletop-double-v0", "--picture", str(tmp_path / "a" / "b.png")]
        )
    assert "cannot write the picture" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize("near", [False, True])
def test_maze(near: bool) -> None:
    task = TASKS["antmaze-medium-navigate-v0"]
    try:
        picture = draw(task, 64, near=near)
    except GoalsetsError as error:
        if "OpenGL does not work here" not in str(error):
            raise
        pytest.skip(str(error))
    assert picture.shape == (64, 64, 3)
    assert picture.std() > 10


def test_word_about_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from goalsets.cli.tasks import data_at_hand
    from goalsets.data.store import INDEX

    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path))
    task = TASKS["pointmaze-medium-navigate-v0"]
    assert data_at_hand(task) == "collect"
    (tmp_path / f"{task.name}.npz").touch()
    assert data_at_hand(task) == "import"
    (tmp_path / task.name).mkdir()
    (tmp_path / task.name / INDEX).touch()
    assert data_at_hand(task) == "ready"
    assert data_at_hand(TASKS["humanoidmaze-large-stitch-v0"]) == "download"
    assert data_at_hand(TASKS["tabletop-single-v0"]) == "ready"


@pytest.mark.full
def test_graphics_that_failed_once_are_not_tried_again() -> None:
    """MuJoCo would end the process at the second try."""
    code = (
        "import mujoco\nfrom goalsets.envs.picture import draw\n"
        "from goalsets.envs.tasks import TASKS\n"
        "for _ in range(3):\n"
        "    try:\n        draw(TASKS['pointmaze-medium-navigate-v0'], 32)\n"
        "    except ValueError as error:\n        print('said', error)\n"
    )
    hidden = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "MUJOCO_GL")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=hidden, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("said")]
    assert len(said) in (0, 3), done.stdout  # a machine may have a display after all
    assert len(set(said)) <= 1
