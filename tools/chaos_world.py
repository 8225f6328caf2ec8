"""What chaos happens to: commands in processes of their own, small disks, and what must hold after.

The reference of every trial is made once, undisturbed. A trial repeats the same commands in a
directory of its own, is disturbed, and must end with the same bits and the same files.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play
from goalsets.envs.tasks import TASKS

TASK = "tabletop-single-v0"
COLLECTED = "pointmaze-medium-stitch-v0"
STUCK = 600.0
"""Seconds after which a command counts as stuck: the machine may be busy."""
TIMES = "times.json"
MARK = "GOALSETS_CHAOS"
"""A variable in the environment of all processes that a trial starts, whoever their parent is."""
SWEEP = """
tasks: {task}
seeds: [0, 1]
overrides: {{steps: 200, batch_size: 32, hidden: 16}}
evaluation: {{episodes: 0}}
pace: {{log_every: 10, checkpoint_every: 20}}
"""


class BrokenError(Exception):
    """Something that we promise did not hold."""


def hold(true: object, promise: str) -> None:
    """Raise an error unless a promise holds."""
    if not true:
        raise BrokenError(promise)


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    errors: str

    def explained(self) -> bool:
        """Whether it failed with a sentence of ours, and no traceback."""
        return self.code != 0 and "error: " in self.errors and "Traceback" not in self.errors


@dataclass
class World:
    """One trial's directory and processes, beside the reference."""

    place: Path
    reference: Path
    rng: random.Random
    counts: Counter[str]
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    data: Path | None = None
    """Where the stores are; the reference's unless a trial has its own."""

    def start(
        self, *words: str | Path, most_bytes: int | None = None, data: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a command of goalsets.

        Args:
            words: The command.
            most_bytes: What a file may have at most: stands in for a full disk.
            data: Where its stores are.
        """
        env = {
            **os.environ,
            MARK: self.mark,
            "GOALSETS_DATA": str(data or self.data or self.reference / "data"),
            "OMP_NUM_THREADS": "1",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
        }

        def limit() -> None:
            if most_bytes is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

        return subprocess.Popen(
            [sys.executable, "-m", "goalsets", *map(str, words)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.place,
            start_new_session=True,
            preexec_fn=limit,  # noqa: PLW1509 - we have no threads when it is called
        )

    def finish(self, process: subprocess.Popen[str]) -> Ended:
        """Wait for a command; one that does not end breaks a promise."""
        try:
            out, errors = process.communicate(timeout=STUCK)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise BrokenError(f"stuck for {STUCK:g} s: {process.args}") from None
        return Ended(process.returncode, out, errors)

    def run(self, *words: str | Path, **options: object) -> Ended:
        """Run a command to its end."""
        return self.finish(self.start(*words, **options))  # pyright: ignore[reportArgumentType]

    def succeed(self, *words: str | Path, **options: object) -> Ended:
        """Run a command that must succeed."""
        ended = self.run(*words, **options)
        command = " ".join(map(str, words))
        hold(ended.code == 0, f"'{command}' ended with {ended.code}: {ended.errors[-2000:]}")
        return ended

    def strike(self, process: subprocess.Popen[str], how: str = "") -> None:
        """Wait for a random moment, and kill the command, all of its group, or one child."""
        time.sleep(self.rng.uniform(0, 1.2 * self.took(process)))
        how = how or self.rng.choice(["killed", "killed with its children", "lost a child"])
        if process.poll() is not None:
            how = "had ended before the kill"
        elif how == "killed":
            process.kill()
        elif how == "killed with its children":
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            others = [pid for pid in self.processes() if pid != process.pid]
            if others:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.rng.choice(others), signal.SIGKILL)
            else:
                how = "had no child to lose"
        self.counts[how] += 1
        if how.startswith("killed"):
            process.communicate()

    def took(self, process: subprocess.Popen[str]) -> float:
        """How many seconds such a command took undisturbed."""
        words = [str(word) for word in list(process.args)[3:5]]  # pyright: ignore[reportArgumentType]
        times = json.loads((self.reference / TIMES).read_text())
        return times.get(words[words[0] == "data"], 10.0)

    def processes(self) -> list[int]:
        """All processes of this trial that are alive, orphans among them."""
        found: list[int] = []
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (directory / "environ").read_bytes():
                    state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
                    if state != "Z":
                        found.append(int(directory.name))
        return found

    def check_processes(self) -> None:
        """Everything that a trial started must end by itself soon after it."""
        end = time.monotonic() + 90
        while left := self.processes():
            if time.monotonic() > end:
                names = [Path(f"/proc/{pid}/cmdline").read_bytes()[:200] for pid in left]
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                raise BrokenError(f"processes are left: {names}")
            time.sleep(0.2)

    @contextlib.contextmanager
    def disk(self, size: int) -> Iterator[Disk]:
        """A small disk of its own where that can be mounted, or else a plain directory."""
        disk = Disk(self.place / "disk", size)
        try:
            yield disk
        finally:
            disk.remove()


class Disk:
    """A file system of a few kilobytes that can grow, or be made read-only.

    Args:
        path: Where.
        size: Bytes.
    """

    def __init__(self, path: Path, size: int) -> None:
        """Mount it, or note that this is not allowed."""
        self.path, self.size = path, size
        path.mkdir(parents=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
        self.mounted = _call(words)

    def grow(self, size: int) -> None:
        """Have room again."""
        self.size = size
        if self.mounted:
            hold(_call(["mount", "-o", f"remount,size={size}", str(self.path)]), "cannot grow")

    def freeze(self, read_only: bool) -> None:
        """Be read-only, or not any more; without a mount, by the directory's mode."""
        if self.mounted:
            mode = "ro" if read_only else "rw"
            hold(_call(["mount", "-o", f"remount,{mode}", str(self.path)]), f"cannot be {mode}")
        else:
            self.path.chmod(0o555 if read_only else 0o755)

    def remove(self) -> None:
        """Unmount it."""
        if self.mounted:
            _call(["umount", "-l", str(self.path)])


def _call(words: list[str]) -> bool:
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


# --- What must be equal -----------------------------------------------------------------------


def same_run(ours: Path, theirs: Path, passing: tuple[str, ...] = ()) -> None:
    """Bit-equal weights, optimiser and generators, equal metrics but for the time; equal files."""
    same_files(ours, theirs, ("tensorboard", *passing))
    for name in sorted(p.relative_to(theirs).as_posix() for p in theirs.rglob("*.safetensors")):
        a, b = load_file(ours / name), load_file(theirs / name)
        hold(a.keys() == b.keys(), f"{ours / name} has other tensors")
        different = [key for key in a if not torch.equal(a[key], b[key])]
        hold(not different, f"{ours / name} differs in {different[:3]}")
    rows = [
        [line.split(",")[:1] + line.split(",")[2:] for line in path.read_text().splitlines()]
        for path in (ours / "metrics.csv", theirs / "metrics.csv")
    ]
    hold(rows[0] == rows[1], f"the metrics of {ours} differ")


def same_files(ours: Path, theirs: Path, passing: tuple[str, ...] = ()) -> None:
    """The same names: no stray file, and none that is missing."""
    found, wanted = (
        {
            path.relative_to(place).as_posix()
            for path in place.rglob("*")
            if path.is_file() and not path.relative_to(place).as_posix().startswith(passing)
        }
        for place in (ours, theirs)
    )
    hold(found == wanted, f"files of {ours}: stray or missing {sorted(found ^ wanted)[:5]}")


def same_bytes(ours: Path, theirs: Path) -> None:
    """Equal files."""
    hold(ours.read_bytes() == theirs.read_bytes(), f"{ours} and {theirs} differ")


# --- The reference ----------------------------------------------------------------------------


def commands(place: Path, reference: Path) -> Mapping[str, list[str | Path]]:
    """The commands that trials disturb, by name, with what they write in `place`."""
    small = ["--batch-size", "32", "--hidden", "16", "--evaluate", "never", "--threads", "1"]
    pace = ["--checkpoint-every", "20", "--log-every", "10", "--resume"]
    run = place / "run"
    suite = reference / "suite.json"
    return {
        "train": ["train", TASK, "-o", run, "--steps", "400", *small, *pace],
        "import": ["data", "import", "npz", reference / "log.npz", "--output", place / "store"],
        "collect": [
            *("data", "collect", COLLECTED, "--episodes", "6", "--workers", "2"),
            *("--output", place / "collected"),
        ],
        "suite": ["suite", "run", run, "--suite", suite, "--workers", "2"],
        "sweep": ["sweep", reference / "sweep.yaml", "-o", place / "sweep", "--processes", "2"],
        "report": ["report", run, "-o", place / "report", "--skip", "pictures", "landscapes"],
    }


def make_reference(place: Path, rng: random.Random) -> None:
    """Make what every trial is compared with."""
    place.mkdir()
    data = place / "data" / TASK
    play, more = record_play(40, 100, seed=0), record_play(20, 100, seed=1)
    write_store(data, play.episodes(), more.episodes(), layout=TASKS[TASK].layout, source="play")
    _write_log(place / "log.npz")
    (place / "sweep.yaml").write_text(SWEEP.format(task=TASK))
    world = World(place, place, rng, Counter())
    words = commands(place, place)
    world.succeed("suite", "build", TASK, "-o", place / "suite.json", "--episodes", "1")
    times: dict[str, float] = {}
    for name in ("train", "import", "collect", "sweep", "suite", "report"):
        start = time.monotonic()
        world.succeed(*words[name])
        times[name] = time.monotonic() - start
        print(f"  {name}: {times[name]:.1f} s undisturbed", flush=True)
    (place / TIMES).write_text(json.dumps(times))
    shutil.copytree(place / "run", place / "trained")
    (place / "trained" / "evaluations.jsonl").unlink()


def _write_log(path: Path) -> None:
    """A log of somebody's robot, in a format that is imported."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(50, 200, 300)
    terminals = np.zeros(lengths.sum(), dtype=bool)
    terminals[np.cumsum(lengths) - 1] = True
    rows = len(terminals)
    np.savez(
        path,
        observations=rng.standard_normal((rows, 20)).astype(np.float32),
        actions=rng.uniform(-1, 1, (rows, 4)).astype(np.float32),
        terminals=terminals,
    )
