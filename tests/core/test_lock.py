"""One writer: the second is told who the first is, a killed one leaves nothing, readers go on."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goalsets.collect.plan import Plan
from goalsets.collect.recipes import RECIPES
from goalsets.collect.shards import Shards
from goalsets.core import GoalsetsError
from goalsets.data.writer import StoreWriter
from goalsets.lock import Holder, InUseError, Lock, read_holder
from goalsets.runs.run import LOCK, lock_run

PLAN = Plan("pointmaze-medium-stitch-v0", RECIPES["pointmaze-medium-stitch-v0"], 0, 5, 2)

HOLD = """
import sys, time
from pathlib import Path
from {module} import *
{before}
with {lock}:
    print("taken", flush=True)
    time.sleep(600)
"""
KINDS: dict[str, tuple[str, str, str]] = {
    "run": ("goalsets.runs.run", "", "lock_run(Path(sys.argv[1]))"),
    "store": ("goalsets.data.writer", "", "StoreWriter(sys.argv[1], None, 'x')"),
    "collection": (
        "goalsets.collect.shards",
        "from goalsets.collect.recipes import RECIPES\n"
        "name = 'pointmaze-medium-stitch-v0'; plan = Plan(name, RECIPES[name], 0, 5, 2)",
        "Shards(Path(sys.argv[1]), plan)",
    ),
}
TAKE: dict[str, Callable[[Path], contextlib.AbstractContextManager[object]]] = {
    "run": lock_run,
    "store": lambda path: StoreWriter(path, None, "x"),
    "collection": lambda path: Shards(path, PLAN),
}


@contextlib.contextmanager
def holder(kind: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes there until it is killed."""
    module, before, lock = KINDS[kind]
    program = HOLD.format(module=module, before=before, lock=lock)
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "taken\n"
            yield process
        finally:
            process.kill()


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_a_second_writer_is_told_at_once_and_a_killed_one_is_forgotten(
    kind: str, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    with holder(kind, place) as first:
        start = time.monotonic()
        with pytest.raises(InUseError) as told, TAKE[kind](place):
            pass
        assert time.monotonic() - start < 1
        assert f"in use by process {first.pid} on " in str(told.value)
        assert f"since {time.strftime('%Y-%m-%d')}" in str(told.value)
        assert "\n" not in str(told.value)
        first.send_signal(signal.SIGKILL)
        first.wait()
        with TAKE[kind](place):
            pass
    left = [p.name for p in place.iterdir()] if place.exists() else []
    assert left in ([], ["plan.json"])  # what a collection has begun


@pytest.mark.full
@pytest.mark.timeout(600)
def test_two_trainings_in_one_directory(tmp_path: Path) -> None:
    """As two people type them: one line says who is at it, and the first goes on unharmed."""
    run = tmp_path / "run"
    small = ["--threads", "1", "--hidden", "8", "--batch-size", "8", "--log-every", "1"]
    words = ["train", "tabletop-single-v0", "-o", str(run), "--evaluate", "never", *small]
    command = [sys.executable, "-m", "goalsets", *words, "--steps", "1000000"]
    env = {**os.environ, "GOALSETS_DATA": str(tmp_path / "data"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as first:
        try:
            until((run / "metrics.csv").exists)
            second = subprocess.run(
                [*command, "--resume"], env=env, capture_output=True, text=True, check=False
            )
            assert second.returncode == 2
            *_, line = second.stderr.strip().splitlines()
            assert line.startswith(f"error: cannot train in {run}: in use by process {first.pid}")
            assert "(goalsets train tabletop-single-v0 -o" in line
            assert first.poll() is None
            size = (run / "metrics.csv").stat().st_size
            until(lambda: (run / "metrics.csv").stat().st_size > size)  # the first goes on
            found = read_holder(run / LOCK)
            assert found is not None
            assert found.pid == first.pid
        finally:
            first.kill()
    with lock_run(run):  # nobody has it any more
        pass
    assert not (run / LOCK).exists()


def until(true: Callable[[], object], seconds: float = 250.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_thread_may_take_a_run_again_and_others_may_not(tmp_path: Path) -> None:
    """A worker of a sweep claims a run, and then trains it."""
    found: list[bool] = []
    with lock_run(tmp_path), lock_run(tmp_path):
        thread = threading.Thread(target=lambda: found.append(lock_run(tmp_path).take()))
        thread.start()
        thread.join()
    assert found == [False]
    lock = Lock(tmp_path / "x", "write")
    with lock, pytest.raises(InUseError), Lock(tmp_path / "x", "write"):
        pass


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with Lock(tmp_path / "new" / "lock", "write"):
        assert (tmp_path / "new" / "lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_was_removed_is_no_lock(tmp_path: Path) -> None:
    """Who opened the file just before its holder removed it must not believe in that file."""
    path, opened = tmp_path / "lock", (tmp_path / "lock").open("a")
    with Lock(path, "write"), pytest.raises(BlockingIOError):
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)  # of a file that has no name any more
    with Lock(path, "write"):
        pass
    opened.close()


def test_no_directory_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GoalsetsError, match="cannot train in .*: Not a directory"):
        with lock_run(tmp_path / "file" / "run"):
            pass


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the note in the file decides, where it speaks of a living process of this machine."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = tmp_path / "lock"
    with Lock(path, "write"):
        pass
    alive = Holder(1, Holder.me().host, "then", "init")
    for note, free in (
        (alive, False),
        (Holder(2**22 + 1, alive.host, "then", "gone"), True),
        (Holder(1, "elsewhere", "then", "init"), True),
    ):
        tmp_path.mkdir(exist_ok=True)  # an empty directory goes with its lock
        path.write_text(json.dumps(vars(note)))
        lock = Lock(path, "write")
        assert lock.take() == free
        if free:
            lock.release()
