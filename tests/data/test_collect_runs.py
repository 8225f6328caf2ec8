"""Whole collections: files that OGBench reads, the same bytes however they came about."""

from __future__ import annotations

import contextlib
import json
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
from typing import Any

import numpy as np
import ogbench
import pytest

from goalsets.cli.data_collect import collect as command
from goalsets.data.collect import RECIPES, CollectError, Collection, collect, shards
from goalsets.data.collect.progress import CollectScreen, Silence
from goalsets.workers import WorkerError

MAZE = "pointmaze-medium-navigate-v0"
SHORT = replace(RECIPES[MAZE], length=50)

# What a user's own script would do; it is started as a process so that it can be killed.
SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from goalsets.data.collect import RECIPES, collect, shards
shards.INTERVAL = 0.2
if __name__ == "__main__":
    name, length, episodes, output = sys.argv[1:]
    recipe = replace(RECIPES[name], length=int(length))
    collect(name, episodes=int(episodes), workers=2, output=Path(output), recipe=recipe)
"""


class Notes(Silence):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.finished = self.total = self.episodes = 0
        self.said: list[str] = []

    def begin(self, finished: int, total: int) -> None:
        self.finished, self.total = finished, total

    def episode(self, steps: int) -> None:
        self.episodes += 1

    def say(self, text: str) -> None:
        self.said.append(text)


def small(output: Path, **options: Any) -> Collection:
    return collect(MAZE, output=output, **{"episodes": 4, "recipe": SHORT, "workers": 1, **options})


def contents(collection: Collection) -> tuple[bytes, ...]:
    return tuple(
        path.read_bytes() for path in (collection.train, collection.validation, collection.about)
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Collection:
    """A small data set, collected by one worker without a disturbance."""
    return small(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.full
def test_ogbench_loads_it(done):
    with np.load(done.train) as file:
        stored = dict(file)
    assert {key: str(array.dtype) for key, array in stored.items()} == {
        "observations": "float32",
        "actions": "float32",
        "terminals": "bool",
        "qpos": "float32",
        "qvel": "float32",
    }
    assert np.flatnonzero(stored["terminals"]).tolist() == [49, 99, 149, 199]
    env, train, validation = ogbench.make_env_and_datasets(
        MAZE, dataset_path=str(done.train), add_info=True
    )
    assert env.observation_space.shape == train["observations"].shape[1:]
    assert len(train["observations"]) == 4 * 49
    assert len(validation["observations"]) == 49
    keep = ~stored["terminals"]
    np.testing.assert_array_equal(train["observations"], stored["observations"][keep])
    np.testing.assert_array_equal(train["actions"], stored["actions"][keep])
    np.testing.assert_array_equal(train["qpos"], stored["qpos"][keep])
    compact = ogbench.load_dataset(done.train, compact_dataset=True)
    np.testing.assert_array_equal(compact["observations"], stored["observations"])


@pytest.mark.full
def test_sidecar_says_where_it_comes_from(done):
    about = json.loads(done.about.read_text())
    assert about["origin"] == "collected"
    assert about["seed"] == 0
    assert about["episodes"] == {"train": 4, "validation": 1}
    assert about["steps"] == {"train": 200, "validation": 50}
    assert about["recipe"]["noise"] == 0.5
    assert about["versions"].keys() == {"goalsets", "ogbench", "mujoco", "numpy"}
    assert done.collected == 5
    assert sorted(path.name for path in done.train.parent.iterdir()) == [
        f"{MAZE}-val.npz",
        f"{MAZE}.json",
        f"{MAZE}.npz",
    ]


@pytest.mark.full
def test_number_of_workers_does_not_matter(done, tmp_path):
    assert contents(small(tmp_path, workers=2)) == contents(done)


@pytest.mark.full
def test_seed_matters_and_validation_is_apart(done, tmp_path):
    other = small(tmp_path, seed=1)
    assert other.train.read_bytes() != done.train.read_bytes()
    train, validation = np.load(done.train), np.load(done.validation)
    assert not (validation["observations"][0] == train["observations"]).all(-1).any()


@pytest.mark.full
def test_a_larger_set_begins_as_a_smaller_one(done, tmp_path):
    larger, smaller = np.load(small(tmp_path, episodes=6).train), np.load(done.train)
    for key in smaller:
        np.testing.assert_array_equal(larger[key][:200], smaller[key])


@pytest.mark.full
def test_manipulation_with_one_and_two_workers(tmp_path):
    name = "puzzle-3x3-noisy-v0"
    recipe = replace(RECIPES[name], length=25)
    one = collect(name, episodes=3, workers=1, output=tmp_path / "1", recipe=recipe)
    two = collect(name, episodes=3, workers=2, output=tmp_path / "2", recipe=recipe)
    assert contents(one) == contents(two)
    train, _ = ogbench.make_env_and_datasets(
        name, dataset_path=str(one.train), dataset_only=True, add_info=True
    )
    assert train["button_states"].shape == (3 * 24, 9)
    assert train["button_states"].dtype == np.int64


@pytest.mark.full
def test_what_is_there_is_left_alone(done, monkeypatch):
    monkeypatch.setattr("goalsets.data.collect.run.Crew", None)
    before = done.train.stat().st_mtime_ns
    again = small(done.train.parent)
    assert again.collected == 0
    assert done.train.stat().st_mtime_ns == before


@pytest.mark.full
def test_another_data_set_is_an_error_unless_forced(tmp_path):
    small(tmp_path, episodes=1)
    with pytest.raises(CollectError, match=r"differs: seed is 0, not 2\. Use --force to replace"):
        small(tmp_path, episodes=1, seed=2)
    with pytest.raises(CollectError, match=r"recipe\.length is 50, not 60"):
        small(tmp_path, episodes=1, recipe=replace(SHORT, length=60))
    forced = small(tmp_path, episodes=1, seed=2, force=True)
    assert forced.content()["seed"] == 2
    forced.validation.unlink()
    with pytest.raises(CollectError, match=rf"lacks {MAZE}-val\.npz"):
        small(tmp_path, episodes=1, seed=2)


def test_a_download_is_not_overwritten(tmp_path):
    (tmp_path / f"{MAZE}.npz").write_bytes(b"downloaded")
    with pytest.raises(CollectError, match="it was downloaded, or not completed"):
        small(tmp_path)


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
        patch.setattr("goalsets.data.collect.run.write_json", fail)
        with pytest.raises(KeyError, match="killed"):
            small(tmp_path, force=True)
    assert (tmp_path / f"{MAZE}.npz").read_bytes() == done.train.read_bytes()
    with pytest.raises(CollectError, match="it was downloaded, or not completed"):
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
    assert re.match(r"a worker died at the train episode \d \(.* code -9\)", killer.said[0])
    assert contents(result) == contents(done)


@pytest.mark.full
def test_two_deaths_at_one_episode_are_too_many(tmp_path):
    over = threading.Event()

    def kill_all() -> None:
        while not over.wait(0.05):
            for child in multiprocessing.active_children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid or 0, signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    try:
        with pytest.raises(WorkerError, match="two workers died at the train episode 0"):
            small(tmp_path)
    finally:
        over.set()
        killer.join()


@pytest.mark.full
def test_an_exception_in_a_worker_is_shown(tmp_path):
    notes = Notes()
    broken = replace(SHORT, env_id="pointmaze-nowhere-v0")
    with pytest.raises(WorkerError, match="(?s)two workers died .*Traceback.*pointmaze-nowhere"):
        small(tmp_path, recipe=broken, watch=notes)
    assert len(notes.said) == 1


@pytest.mark.full
def test_interrupted_by_ctrl_c(tmp_path):
    script = tmp_path / "cli.py"
    script.write_text(
        "from goalsets.cli.data_collect import collect\n"
        "from goalsets.data.collect import shards\n"
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


@pytest.mark.full
def test_command_line_says_where_and_what_next(done, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(RECIPES._entries, MAZE, SHORT)
    command(MAZE, episodes=4, workers=1, output=tmp_path)
    printed = capsys.readouterr().out
    assert printed.startswith(f"collected {tmp_path / MAZE}.npz")
    assert f"next: goalsets data import ogbench {MAZE} --directory {tmp_path}" in printed
    command(MAZE, episodes=4, workers=1, output=tmp_path)
    assert capsys.readouterr().out.startswith("already there:")


def test_progress_without_a_terminal():
    from rich.console import Console

    console = Console(record=True, force_terminal=False, width=200)
    with CollectScreen(console, interval=0.0) as screen:
        screen.begin(finished=3, total=10)
        screen.episode(1001)
        screen.say("a worker died [sic]")
    text = console.export_text()
    assert "continuing: 3 of 10 episodes are there." in text
    assert "4 of 10 episodes, " in text
    assert " steps/s, 0:0" in text
    assert "[sic]" in text


def test_progress_on_a_terminal(capsys):
    from rich.console import Console

    console = Console(force_terminal=True, width=120)
    with CollectScreen(console) as screen:
        screen.begin(finished=0, total=10)
        screen.episode(1001)
    assert "1/10" in capsys.readouterr().out


def test_shards_are_a_few_seconds_apart():
    assert 1.0 <= shards.INTERVAL <= 60.0
