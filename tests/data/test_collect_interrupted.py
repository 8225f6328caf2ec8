"""Collections that are killed, stopped or lose a worker: nothing is lost and nothing differs."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from goalsets.collect import RECIPES, CollectError, Collection, collect
from goalsets.crew import WorkerError
from tests.data.collecting import MAZE, SHORT, Notes, contents, small

# What a user's own script would do; it is started as a process so that it can be killed.
SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from goalsets.collect import RECIPES, collect, shards
shards.INTERVAL = 0.2
if __name__ == "__main__":
    name, length, episodes, output = sys.argv[1:]
    recipe = replace(RECIPES[name], length=int(length))
    collect(name, episodes=int(episodes), workers=2, output=Path(output), recipe=recipe)
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Collection:
    """A small data set, collected by one worker without a disturbance."""
    return small(tmp_path_factory.mktemp("undisturbed"))


@contextlib.contextmanager
def started(tmp_path: Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_shards(directory: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list(directory.glob("*/train-*.npz"))) < count:
        assert time.monotonic() < deadline, "no shards were written"
        time.sleep(0.02)


@pytest.mark.full
def test_killed_and_continued(tmp_path):
    recipe = replace(RECIPES[MAZE], length=200)
    with started(tmp_path, MAZE, 200, 80, tmp_path / "killed") as process:
        wait_for_shards(tmp_path / "killed", 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    work = tmp_path / "killed" / f"{MAZE}.collecting"
    kept = {path.name: path.read_bytes() for path in work.glob("*.npz")}
    finished = sum(int(np.load(work / name)["terminals"].sum()) for name in kept)
    assert 0 < finished < 88
    assert not (tmp_path / "killed" / f"{MAZE}.npz").exists()

    class Look(Notes):
        def begin(self, finished: int, total: int) -> None:
            super().begin(finished, total)
            assert {path.name: path.read_bytes() for path in work.glob("*.npz")} == kept

    look = Look()
    output = tmp_path / "killed"
    continued = collect(MAZE, episodes=80, output=output, recipe=recipe, watch=look)
    assert look.finished == finished
    assert look.episodes == continued.collected == 88 - finished
    assert not work.exists()
    undisturbed = collect(MAZE, episodes=80, output=tmp_path / "whole", recipe=recipe)
    assert contents(continued) == contents(undisturbed)


@pytest.mark.full
def test_a_kill_between_the_files(done, tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise KeyError("killed")

    small(tmp_path, seed=1)
    with monkeypatch.context() as patch:
        patch.setattr("goalsets.collect.run.write_json", fail)
        with pytest.raises(KeyError, match="killed"):
            small(tmp_path, force=True)
    assert (tmp_path / f"{MAZE}.npz").read_bytes() == done.train.read_bytes()
    with pytest.raises(CollectError, match="it was downloaded, or is not complete"):
        small(tmp_path, seed=1)
    again = small(tmp_path)
    assert again.collected == 0
    assert contents(again) == contents(done)


@pytest.mark.full
def test_leftovers_of_a_kill_at_the_end_go(done):
    work = done.train.with_name(f"{MAZE}.collecting")
    work.mkdir()
    small(done.train.parent)
    assert not work.exists()


@pytest.mark.full
def test_a_worker_that_dies_is_replaced(done, tmp_path):
    class Killer(Notes):
        def episode(self, steps: int) -> None:
            super().episode(steps)
            if self.episodes == 1:
                os.kill(multiprocessing.active_children()[0].pid or 0, signal.SIGKILL)

    killer = Killer()
    result = small(tmp_path, watch=killer, recipe=SHORT)
    assert len(killer.said) == 1
    assert re.match(r"a worker died at the train episode \d \(.* signal 9\)", killer.said[0])
    assert contents(result) == contents(done)


@pytest.mark.full
def test_two_deaths_are_too_many(tmp_path):
    over = threading.Event()

    def kill_all() -> None:
        while not over.wait(0.05):
            for child in multiprocessing.active_children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid or 0, signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    try:
        with pytest.raises(WorkerError, match="2 workers died before their first job"):
            small(tmp_path)
    finally:
        over.set()
        killer.join()


@pytest.mark.full
def test_an_exception_in_a_worker_is_shown(tmp_path):
    notes = Notes()
    broken = replace(SHORT, env_id="pointmaze-nowhere-v0")
    with pytest.raises(WorkerError, match="(?s)Traceback.*pointmaze-nowhere"):
        small(tmp_path, recipe=broken, watch=notes)
    assert notes.said == []


@pytest.mark.full
def test_interrupted_by_ctrl_c(tmp_path):
    script = tmp_path / "cli.py"
    script.write_text(
        "from goalsets.cli.data_collect import collect\n"
        "from goalsets.collect import shards\n"
        "from pathlib import Path\n"
        "import signal, sys\n"
        "shards.INTERVAL = 0.2\n"
        # Tests that a shell runs in its background ignore Ctrl-C, and pass that on.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "if __name__ == '__main__':\n"
        f"    collect({MAZE!r}, workers=2, output=Path(sys.argv[1]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "out")],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_shards(tmp_path / "out", 1)
    os.killpg(process.pid, signal.SIGINT)  # As a terminal does: to workers as well.
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "of 1100 episodes are kept in" in err
    assert "Run the same command again to continue." in err
    assert "Traceback" not in err
    assert out == ""


@pytest.mark.full
def test_workers_go_when_the_one_they_work_for_is_killed(tmp_path):
    with started(tmp_path, MAZE, 300, 200, tmp_path / "out") as process:
        wait_for_shards(tmp_path / "out", 1)
        process.kill()  # Only the parent.
        process.wait()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
        pytest.fail("workers outlived their parent")
