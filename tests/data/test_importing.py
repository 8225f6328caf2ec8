"""From a source to a store, through the command line too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalsetsError, Query, read_layout
from goalsets.cli import main
from goalsets.data.importing import import_source
from goalsets.data.sources import Npz
from goalsets.data.store import Store
from goalsets.lock import InUseError


def write_npz(path: Path, episodes: int = 12, length: int = 9, dim: int = 5) -> np.ndarray:
    """An OGBench-like archive: an angle pair and three numbers."""
    rng = np.random.default_rng(0)
    states = rng.normal(size=(episodes, length + 1, dim)).astype(np.float32)
    angle = rng.uniform(-np.pi, np.pi, (episodes, length + 1))
    states[..., 3], states[..., 4] = np.cos(angle), np.sin(angle)
    ends = np.zeros((episodes, length + 1), dtype=bool)
    ends[:, -1] = True
    np.savez(
        path,
        observations=states.reshape(-1, dim),
        actions=rng.uniform(-1, 1, (episodes * (length + 1), 2)).astype(np.float32),
        terminals=ends.reshape(-1),
    )
    return states


def test_every_episode_arrives_once(tmp_path: Path) -> None:
    states = write_npz(tmp_path / "log.npz", episodes=25)
    seen: list[tuple[int, int]] = []
    imported = import_source(
        Npz(tmp_path / "log.npz"),
        tmp_path / "store",
        hold_out=0.2,
        progress=lambda episodes, transitions: seen.append((episodes, transitions)),
    )
    store = imported.store
    assert (store.train.num_episodes, store.validation.num_episodes) == (20, 5)
    assert seen[-1] == (25, 25 * 9)
    arrived = {e.observations.tobytes() for e in (*store.train, *store.validation)}
    assert arrived == {episode.tobytes() for episode in states}
    held_out = [e.observations for e in store.validation]
    np.testing.assert_array_equal(held_out, states[4::5])


@pytest.mark.parametrize("hold_out", [-0.1, 1.0])
def test_share_is_checked(tmp_path: Path, hold_out: float) -> None:
    write_npz(tmp_path / "log.npz")
    with pytest.raises(GoalsetsError, match="must be at least 0 and below 1"):
        import_source(Npz(tmp_path / "log.npz"), tmp_path / "store", hold_out=hold_out)


def test_nothing_held_out(tmp_path: Path) -> None:
    write_npz(tmp_path / "log.npz")
    store = import_source(Npz(tmp_path / "log.npz"), tmp_path / "store", hold_out=0.0).store
    assert (store.train.num_episodes, store.validation.num_episodes) == (12, 0)


def test_command_line_from_log_to_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Import without a layout, adopt what is offered, import again, look."""
    write_npz(tmp_path / "arm.npz", episodes=40)
    store = tmp_path / "arm"
    main(["data", "import", "npz", str(tmp_path / "arm.npz"), "--output", str(store)])
    printed = capsys.readouterr().out
    assert "36 episodes to train on (324 transitions), 4 to validate" in printed
    assert f"next: goalsets data inspect {store}" in printed
    proposed = tmp_path / "arm.layout.yaml"
    text = proposed.read_text()
    assert read_layout(proposed).dim == 5
    assert "an angle as (cos, sin)?" in text
    layout = tmp_path / "mine.yaml"
    layout.write_text(
        "name: arm\ndim: 5\ngroups:\n  pos: {indices: '0:3', tolerance: 0.2}\n"
        "  yaw: {indices: [3, 4], metric: angle, tolerance: 20deg}\n"
    )
    again = ["data", "import", "npz", str(tmp_path / "arm.npz"), "--output", str(store)]
    main([*again, "--layout", str(layout)])
    assert Store.open(store).layout == read_layout(layout)
    capsys.readouterr()
    main(["data", "inspect", str(store), "--verify"])
    printed = capsys.readouterr().out
    assert "pos" in printed
    assert "nothing suspicious" in printed
    assert (tmp_path / "arm.html").exists()


def test_layout_of_another_dimension(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_npz(tmp_path / "arm.npz")
    layout = tmp_path / "mine.yaml"
    layout.write_text("name: other\ndim: 7\ngroups: {}\n")
    command = ["data", "import", "npz", str(tmp_path / "arm.npz"), "--layout", str(layout)]
    with pytest.raises(SystemExit) as stop:
        main([*command, "--output", str(tmp_path / "s")])
    assert stop.value.code == 2
    assert "the layout 'other' has 7 coordinates, and the data has 5" in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


SLOW_IMPORT = """
import sys, time
from pathlib import Path
from goalsets.data.importing import import_source
from goalsets.data.sources import Npz

def slowly(episodes, transitions):
    print(episodes, flush=True)
    time.sleep(0.05)

import_source(Npz(Path(sys.argv[1])), sys.argv[2], hold_out=0.0, progress=slowly)
"""


def test_killed_import_leaves_the_old_store(tmp_path: Path) -> None:
    write_npz(tmp_path / "old.npz", episodes=3)
    write_npz(tmp_path / "new.npz", episodes=60)
    store = tmp_path / "store"
    old = import_source(Npz(tmp_path / "old.npz"), store).store.fingerprint
    command = [sys.executable, "-c", SLOW_IMPORT, str(tmp_path / "new.npz"), str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(5):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert Store.open(store).fingerprint == old
    again = import_source(Npz(tmp_path / "new.npz"), store).store
    assert again.train.num_episodes + again.validation.num_episodes == 60
    assert len(list(store.glob("data-*"))) == 1


def test_import_refuses_a_store_that_is_being_written(tmp_path: Path) -> None:
    write_npz(tmp_path / "new.npz", episodes=60)
    command = [sys.executable, "-c", SLOW_IMPORT, str(tmp_path / "new.npz"), str(tmp_path / "s")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        with pytest.raises(InUseError, match=r"in use by process \d+ on"):
            import_source(Npz(tmp_path / "new.npz"), tmp_path / "s")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_units_of_groups_can_be_said(tmp_path, capsys):
    write_npz(tmp_path / "log.npz")
    command = ["data", "import", "npz", str(tmp_path / "log.npz"), "--output", str(tmp_path / "s")]
    main([*command, "--units", "st*=deg"])
    layout = Store.open(tmp_path / "s").layout
    assert layout.groups[0].unit == "deg"
    assert read_layout(tmp_path / "s.layout.yaml") == layout
    assert Query.parse("state:5deg", layout).terms[0].tolerance == 5
    assert Query.parse("state:0.1rad", layout).terms[0].tolerance == pytest.approx(5.7296, abs=1e-4)
    capsys.readouterr()
    for wrong, message in (
        ("joint=deg", "no group is named 'joint': "),
        ("state=furlong", "unknown unit 'furlong'"),
        ("deg", "--units takes pairs such as joint*=deg, got 'deg'"),
    ):
        with pytest.raises(SystemExit):
            main([*command, "--units", wrong])
        assert message in capsys.readouterr().err
